/** The host worker's own transaction, on a directory in place of a machine. */

import { gunzipSync } from 'node:zlib';
import { createHostActivities } from '../../../activities/host/host-activities';
import { installFirstConfig } from '../../../host/first-boot/first-boot';
import type { HostPorts } from '../../../host/ports';
import { findDrift } from '../../../host/drift/compare';
import type { UpdateHeader, UpdateMark } from '../../../host/ports';
import { readUnordered, writeCurrentConfig } from '../../../host/records/configs';
import {
  createHostFiles,
  createHostUsers,
  createJournal,
  createNoneDriver,
  createOfflineSystemd,
} from '../../../adapters/host';
import { encodeIgnition, parseAndConvert, readRawIgnition } from '../../../core/ignition';
import { canonicalConfig } from '../../../core/machine-config/canonical';
import type { RenderedSpec } from '../../../core/machine-config/types';
import type { HostStep } from '../../../workflows/contracts/host';

const NODE = 'worker-0';

/** The config as the render controller makes it: always 3.5. */
export function renderedConfig(name: string, config: object) {
  const raw = readRawIgnition(config, { gunzip: (bytes) => gunzipSync(bytes) });
  const spec: RenderedSpec = {
    osImageURL: '',
    baseOSExtensionsContainerImage: '',
    kernelArguments: [],
    extensions: [],
    fips: false,
    kernelType: 'default',
    config: encodeIgnition(parseAndConvert(raw)) as unknown as RenderedSpec['config'],
  };
  const bytes = Buffer.from(canonicalConfig({ metadata: { name }, spec }));
  return { ...readUnordered(bytes, name), bytes };
}

type Rendered = ReturnType<typeof renderedConfig>;

/** Ports of a machine that has one config, and whose operating system stays unchanged. */
function portsOf(root: string, config?: Rendered): HostPorts {
  const files = createHostFiles({ root, sync: false });
  return {
    node: NODE,
    files,
    users: createHostUsers(files),
    journal: createJournal<UpdateHeader, UpdateMark>(files),
    systemd: createOfflineSystemd(files),
    os: createNoneDriver(),
    configs: {
      fetch: (name) =>
        config === undefined
          ? Promise.reject(new Error(`nobody serves ${name}`))
          : Promise.resolve(config.bytes),
    },
    reboot: { request: () => undefined },
    now: () => new Date(),
    context: () => ({ signal: new AbortController().signal, progress: () => undefined }),
  };
}

/** Writes the config to a machine that has none. */
export async function writeWithHostWorker(root: string, config: Rendered): Promise<void> {
  const { name } = config.reference;
  await installFirstConfig(portsOf(root), name, config.bytes, async () => undefined);
}

/** Records the config as the machine's current one. @returns the drift that the host worker finds */
export async function takeOver(root: string, config: Rendered): Promise<string | undefined> {
  const ports = portsOf(root);
  await writeCurrentConfig(ports.files, config);
  return (await findDrift(ports, config.spec))?.reason;
}

/** Updates a machine from its config to the next one. */
export async function update(root: string, config: Rendered): Promise<void> {
  const activities = createHostActivities(portsOf(root, config));
  const order = (step: HostStep) => ({
    ...{ orderId: step, step, node: NODE },
    pool: { name: 'worker', uid: 'pool-1', generation: 1 },
    config: config.reference,
    disruptionPolicies: {},
    issuedAt: new Date().toISOString(),
    notAfter: new Date(Date.now() + 3_600_000).toISOString(),
    commitWithinSeconds: 1_200,
    reconnectSeconds: 600,
  });
  await activities.prepareUpdate(order('prepareUpdate'));
  await activities.applyUpdate(order('applyUpdate'));
  await activities.verifyUpdate(order('verifyUpdate'));
  await activities.commitUpdate(order('commitUpdate'));
}
