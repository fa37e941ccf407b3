/** A host for tests: a simulated machine in a temporary directory, and configs that it can fetch. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createHostFiles,
  createHostUsers,
  createJournal,
  createOfflineSystemd,
  type FileSystem,
  NODE_FILE_SYSTEM,
  type ServiceAction,
} from '../../../adapters/host';
import {
  createFailurePlan,
  createSimulatedMachine,
  createSimulatedOs,
  DEFAULT_DURATIONS,
  simulatedOwnership,
} from '../../../adapters/simulation';
import { createHostActivities } from '../../../activities/host/host-activities';
import type { HostPorts, UpdateHeader, UpdateMark } from '../../../host/ports';
import { digestOf } from '../../../host/records/configs';
import { canonicalConfig } from '../../../core/machine-config/canonical';
import { fail } from '../../../core/errors';
import type { RenderedSpec } from '../../../core/machine-config/types';
import type { ConfigReference, HostOrder, HostStep } from '../../../workflows/contracts/host';

export const NODE = 'worker-1';
const NAMESPACE = 'slipway';
const INSTANT = { ...DEFAULT_DURATIONS, stageSeconds: 0, applySeconds: 0, rebootSeconds: 0 };

export interface TestConfig {
  readonly reference: ConfigReference;
  readonly bytes: Buffer;
  readonly spec: RenderedSpec;
}

/** A rendered config with every field; `config` is Ignition 3.5. */
export function aConfig(
  name: string,
  fields: Partial<Omit<RenderedSpec, 'config'>> & {
    readonly config?: Omit<RenderedSpec['config'], 'ignition'>;
  } = {},
): TestConfig {
  const { config, ...others } = fields;
  const spec: RenderedSpec = {
    osImageURL: '',
    baseOSExtensionsContainerImage: '',
    kernelArguments: [],
    extensions: [],
    fips: false,
    kernelType: 'default',
    ...others,
    config: { ignition: { version: '3.5.0' }, ...config },
  };
  const bytes = Buffer.from(canonicalConfig({ metadata: { name }, spec }));
  return { reference: { name, digest: digestOf(bytes) }, bytes, spec };
}

export function aFile(path: string, text: string, mode = 0o644) {
  const source = `data:,${encodeURIComponent(text)}`;
  return { path, mode, overwrite: true, contents: { source } };
}

export type TestHost = Awaited<ReturnType<typeof aHost>>;

/** A host that can fetch these configs. `remove()` deletes it. */
export async function aHost(configs: readonly TestConfig[], at?: { readonly root: string }) {
  const root = at?.root ?? mkdtempSync(join(tmpdir(), 'slipway-host-'));
  const failures = createFailurePlan([]);
  const machine = await createSimulatedMachine({ node: NODE, root, durations: INSTANT, failures });
  const serviceActions: ServiceAction[] = [];
  const reboots: string[] = [];
  const fetched: string[] = [];
  const abort = new AbortController();
  const clock = { now: new Date('2030-01-01T00:00:00Z'), uptime: 1_000 };

  /** The ports of a worker process on this machine; `fs` may end it at any call. */
  async function ports(fs: FileSystem = NODE_FILE_SYSTEM): Promise<HostPorts> {
    const files = createHostFiles({ root, fs, sync: false, ownership: simulatedOwnership(root) });
    return {
      node: NODE,
      namespace: NAMESPACE,
      files,
      users: createHostUsers(files),
      journal: createJournal<UpdateHeader, UpdateMark>(files),
      systemd: createOfflineSystemd(files, (action) => serviceActions.push(action)),
      os: await createSimulatedOs({ files, pace: machine.pace }),
      configs: {
        async fetch(name) {
          fetched.push(name);
          const config = configs.find(({ reference }) => reference.name === name);
          if (config === undefined) throw fail('ConfigFetchFailed', `fetch ${name}: 404`);
          return config.bytes;
        },
      },
      reboot: { request: (reason) => reboots.push(reason) },
      now: () => clock.now,
      uptime: () => clock.uptime,
      context: () => ({ signal: abort.signal, progress: () => undefined }),
    };
  }

  return {
    root,
    configs,
    machine,
    serviceActions,
    reboots,
    fetched,
    abort,
    clock,
    ports,
    activities: async (fs?: FileSystem) => createHostActivities(await ports(fs)),
    /** Boots the machine; a staged and released deployment takes over. */
    boot: async (options = { broken: false }) => {
      const { os } = await ports();
      return (os as Awaited<ReturnType<typeof createSimulatedOs>>).boot(options);
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** The same machine once more, as it is on disk: cheaper than taking another one there. */
export async function aCopyOf({
  root,
  configs,
}: Pick<TestHost, 'root' | 'configs'>): Promise<TestHost> {
  return aHost(configs, { root: copyOfTree(root) });
}

/** With modes, owners, links and attributes, which `cpSync` does not keep. */
export function copyOfTree(directory: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'slipway-host-'));
  execFileSync('cp', ['-a', `${directory}/.`, copy]);
  return copy;
}

/** Good for every step, with what only one of them needs to know. */
export type TestOrder = HostOrder & {
  readonly commitWithinSeconds: number;
  readonly reconnectSeconds: number;
};

/** An order for a config; each step gets its own ID, as workflows give it. */
export function orderFor(
  config: TestConfig,
  step: string,
  more: Partial<HostOrder> = {},
): TestOrder {
  return {
    commitWithinSeconds: 1_200,
    reconnectSeconds: 600,
    orderId: `update-node/${NODE}/run-1/${step}`,
    step: step as HostStep,
    node: NODE,
    pool: { name: 'worker', uid: 'pool-1', generation: 1 },
    config: config.reference,
    disruptionPolicies: {},
    issuedAt: '2030-01-01T00:00:00Z',
    notAfter: '2030-01-01T01:00:00Z',
    ...more,
  };
}

/** Brings a new host to its first config: prepared, applied, booted, committed. */
export async function bootInto(host: TestHost, config: TestConfig): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(config, 'p', { orderId: 'old/p' }));
  await activities.applyUpdate(orderFor(config, 'a', { orderId: 'old/a' }));
  await activities.armReboot(orderFor(config, 'r', { orderId: 'old/r' }));
  await host.boot();
  const booted = await host.activities();
  await booted.verifyUpdate(orderFor(config, 'v', { orderId: 'old/v' }));
  await booted.commitUpdate(orderFor(config, 'c', { orderId: 'old/c' }));
  host.reboots.length = 0;
}
