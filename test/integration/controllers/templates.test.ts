/** MachineConfigs from templates, on a real API server. */

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WatchCache } from '../../../adapters/kube/cache';
import {
  CONTROLLER_CONFIGS,
  KUBELET_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  type KubeObject,
} from '../../../adapters/kube/resources';
import { decodeDataUrl } from '../../../core/encoding';
import type { Origin } from '../../../core/generated-configs';
import type { IgnitionConfig } from '../../../core/machine-config';
import { repositoryRoot } from '../../../tools/repository-root';
import { QUIET } from '../crds/api-server';
import { aConfig, aPool, useControllers } from './fixture';

jest.setTimeout(60_000);

const POOL = 'worker';
const NAME = 'machine-config-controller';
const KUBELET = `01-${POOL}-kubelet`;
const CONF = '/etc/kubernetes/kubelet.conf';

const folder = mkdtempSync(join(tmpdir(), 'slipway-templates-'));
cpSync(join(repositoryRoot(), 'deploy/templates'), folder, { recursive: true });

const fixture = useControllers(() => Promise.resolve({ flags: { templatesDir: folder } }));
let controllerConfigs: WatchCache<Origin>;
const ended = new AbortController();

beforeAll(async () => {
  const { client } = fixture.api;
  controllerConfigs = new WatchCache<Origin>({ resource: CONTROLLER_CONFIGS, log: QUIET });
  void controllerConfigs.run(client, ended.signal);
  await controllerConfigs.synced;
  const pool = aPool(POOL);
  const labels = { pool: POOL };
  await client.create(MACHINE_CONFIG_POOLS, { ...pool, metadata: { ...pool.metadata, labels } });
});

afterAll(() => {
  ended.abort();
  rmSync(folder, { recursive: true });
});

/** The text of a file in a MachineConfig; empty when it does not exist. */
function textIn(name: string, path: string): string {
  const config = fixture.observer.configs.get(name)?.spec.config as IgnitionConfig | undefined;
  const file = config?.storage?.files?.find((one) => one.path === path);
  const decoded = decodeDataUrl(file?.contents?.source ?? 'data:,');
  return decoded.error === undefined ? new TextDecoder().decode(decoded.bytes) : '';
}

async function untilText(
  name: string,
  path: string,
  holds: (text: string) => boolean,
): Promise<void> {
  const { observer } = fixture;
  const text = () => textIn(name, path);
  await observer.until(observer.configs, () => holds(text()), text);
}

/** Waits for a condition at the newest generation. */
async function untilSaid(type: string, holds: (message: string) => boolean): Promise<string> {
  const said = (): string => {
    const { metadata, status } = controllerConfigs.get(NAME) ?? {};
    if (status?.observedGeneration !== metadata?.generation) return '';
    const found = status?.conditions?.find((one) => one.type === type && one.status === 'True');
    return found?.message ?? '';
  };
  await fixture.observer.until(
    controllerConfigs,
    () => holds(said()),
    () => JSON.stringify(controllerConfigs.get(NAME)?.status),
  );
  return said();
}

const patched = (value: object) =>
  fixture.api.client.patch(CONTROLLER_CONFIGS, { name: NAME }, value, { fieldManager: 'test' });

const platform = { status: { platformStatus: { type: 'None' } } };

/** The sources that the pool is rendered from. */
const sources = async (holds: (names: readonly string[]) => boolean): Promise<void> => {
  await fixture.observer.pool(POOL, ({ spec }) =>
    holds((spec.configuration?.source ?? []).map(({ name = '' }) => name)),
  );
};

it('generates nothing until the ControllerConfig asks for it, and nothing half', async () => {
  const { client } = fixture.api;
  await client.create(MACHINE_CONFIGS, aConfig('50-mine', POOL));
  const config = { metadata: { name: NAME }, spec: { infra: platform } } as KubeObject;
  await client.create(CONTROLLER_CONFIGS, config);
  await sources((names) => names.join() === '50-mine');

  await patched({ metadata: { annotations: { 'slipway.dev/templates': 'kubeadm' } } });

  const message = await untilSaid('TemplateControllerFailing', (said) => said !== '');
  expect(message).toContain('spec.clusterDNSIP: is missing');
  expect(fixture.observer.configs.list().map(({ metadata }) => metadata.name)).not.toContain(
    `00-${POOL}`,
  );
});

it('generates them, renders the pool with them, and says so', async () => {
  await patched({ spec: { clusterDNSIP: '10.96.0.10' } });

  await untilSaid('TemplateControllerCompleted', (said) => said.startsWith('sync completed'));
  await untilText(KUBELET, CONF, (text) => text.includes('- 10.96.0.10'));
  await sources((names) => names.includes(KUBELET) && names.includes(`00-${POOL}`));
  const [owner] = fixture.observer.configs.get(KUBELET)?.metadata.ownerReferences ?? [];
  expect(owner).toMatchObject({ kind: 'ControllerConfig', name: NAME, controller: true });
  expect(owner?.uid).toBe(controllerConfigs.get(NAME)?.metadata.uid);
});

it('puts right what somebody edits or deletes', async () => {
  const { client } = fixture.api;
  const patch = [{ op: 'replace', path: '/spec', value: {} }];
  const options = { fieldManager: 'test', kind: 'json' } as const;
  await client.patch(MACHINE_CONFIGS, { name: KUBELET }, patch, options);
  await untilText(KUBELET, CONF, (text) => text === '');
  await untilText(KUBELET, CONF, (text) => text.includes('clusterDNS'));

  const before = fixture.observer.configs.get(KUBELET)?.metadata.uid;
  await client.delete(MACHINE_CONFIGS, { name: KUBELET });
  const { observer } = fixture;
  await observer.until(observer.configs, () => {
    const uid = observer.configs.get(KUBELET)?.metadata.uid;
    return uid !== undefined && uid !== before;
  });
});

it('KubeletConfigs are merged into its file, and a change costs the pool one render', async () => {
  const { client } = fixture.api;
  const spec = {
    machineConfigPoolSelector: { matchLabels: { pool: POOL } },
    kubeletConfig: { maxPods: 37 },
  };
  await client.create(KUBELET_CONFIGS, { metadata: { name: 'more' }, spec });
  const generated = `99-${POOL}-generated-kubelet`;
  await untilText(generated, CONF, (text) => text.includes('maxPods: 37'));
  await sources((names) => names.includes(generated));
  const before = await fixture.observer.countRenders(POOL);

  // In 00 and in 01, and in what a KubeletConfig makes of 01.
  const proxy = { httpProxy: 'http://proxy.example.com:3128' };
  await patched({ spec: { clusterDNSIP: '10.96.0.11', proxy } });

  await untilText(generated, CONF, (text) => text.includes('- 10.96.0.11'));
  const { observer } = fixture;
  const hasBoth = (name = ''): boolean =>
    textIn(name, CONF).includes('10.96.0.11') &&
    JSON.stringify(observer.configs.get(name)?.spec).includes('proxy.example.com');
  await observer.pool(POOL, ({ spec }) => hasBoth(spec.configuration?.name));
  expect(await observer.countRenders(POOL)).toBe(before + 1);
});

it('takes a changed template over', async () => {
  const file = 'common/worker/base/files/motd.yaml';
  mkdirSync(join(folder, 'common/worker/base/files'), { recursive: true });
  const text = (motd: string) => `path: /etc/motd\ncontents:\n  inline: ${motd}\n`;
  writeFileSync(join(folder, file), text('"{{ nope }}"'));
  const failing = await untilSaid('TemplateControllerFailing', (said) => said !== '');
  expect(failing).toContain(`template ${file}:3: there is no value nope`);

  writeFileSync(join(folder, file), text("'pool {{ pool }}'"));
  await untilText(`00-${POOL}`, '/etc/motd', (motd) => motd === 'pool worker');
});

it('takes over what others keep under its names only with the flag', async () => {
  const { client } = fixture.api;
  await client.create(MACHINE_CONFIGS, aConfig('00-infra', 'infra'));
  await client.create(MACHINE_CONFIG_POOLS, aPool('infra'));

  const failing = 'TemplateControllerFailing';
  await untilSaid(failing, (said) => said.includes('machineconfig 00-infra exists'));
  expect(textIn('00-infra', '/etc/motd')).toBe('');

  await patched({ metadata: { annotations: { 'slipway.dev/templates-take-over': 'true' } } });
  await untilText('00-infra', '/etc/motd', (motd) => motd === 'pool infra');
});

it('takes away those of a pool that is gone', async () => {
  const { observer, api } = fixture;
  await api.client.delete(MACHINE_CONFIG_POOLS, { name: 'infra' });
  await observer.until(observer.configs, () => observer.configs.get('00-infra') === undefined);
});
