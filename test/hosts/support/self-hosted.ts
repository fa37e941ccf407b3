/** A cluster of machines that somebody else installed. Slipway comes as images and manifests, as docs/install.md has it. */

import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { KubernetesObject } from '@kubernetes/client-node';
import { stringify } from 'yaml';
import { VERSION } from '../../../process/version';
import type { Cluster } from '../../../tools/cluster';
import { ensureBinary } from '../../../tools/binaries';
import { repositoryRoot } from '../../../tools/repository-root';
import { manifestsWith } from '../../../tools/stack/manifests';
import type { TemporalServer } from '../../../tools/temporal';
import { until as eventually } from '../../integration/tools/until';
import { startObserver } from '../../observer/observer';
import type { RolloutRecord } from '../../observer/record';
import { until } from '../../observer/until';
import { execute } from '../execute';
import { joinPool } from '../machine/join';
import { createMachine, type Machine } from '../machine/machine';
import { CONTROL_PLANE } from '../machine/network';
import { createContainerImages } from './container-images';
import { writeInstallerOverlay } from './installer-overlay';
import { withServers } from './servers';

const ROOT = repositoryRoot();
export const POOL = 'worker';
/** Of Slipway's server, in `/etc/hosts` of each machine: all machines that may run it. */
const SERVER = 'slipway.test';
const NO_POINTER = { ignition: { version: '3.4.0' } };
const PODS_MS = 300_000;

export interface SelfHosted {
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  readonly machines: readonly Machine[];
  readonly record: RolloutRecord;
  /** The config of the pool. */
  target(): string;
  /** Waits for so many pods of Slipway, and brings the machines under Slipway. */
  begin(pods: number): Promise<void>;
  /** Applies a MachineConfig and rolls it out, as a person does who watches. */
  roll(config: KubernetesObject): Promise<void>;
  kubectl(...args: readonly string[]): Promise<string>;
  slipway(...args: readonly string[]): Promise<string>;
  /** Slipway's pods that are Ready, as `pod on node`. */
  readyPods(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Everything of docs/install.md up to the first rollout. */
export function startSelfHosted(hosts: number): Promise<SelfHosted> {
  return withServers({ ui: false }, async ({ directory, images, cluster, temporal, stops }) => {
    const machines = await bareMachines({
      cluster,
      temporal,
      image: images.bare,
      hosts,
      directory,
    });
    stops.push(async () => {
      for (const machine of machines) await machine.remove();
    });
    await giveImages(machines, directory);
    const tools = await toolsOf(cluster, temporal);
    await installControlPlane(tools, { cluster, temporal, directory });
    await installHostWorkers(tools, { temporal, directory });
    const observer = await startObserver({
      kubeconfig: cluster.adminKubeconfig,
      nodeSelector: `node-role.kubernetes.io/${POOL}`,
      maxUnavailable: 1,
    });
    stops.push(() => Promise.resolve(observer.stop()));
    const { record } = observer;
    return {
      cluster,
      temporal,
      machines,
      record,
      ...tools,
      ...stepsOf(tools, cluster, record),
    };
  });
}

function stepsOf(
  tools: Tools,
  cluster: Cluster,
  record: RolloutRecord,
): Pick<SelfHosted, 'target' | 'begin' | 'roll'> {
  const target = (): string => record.pool(POOL)?.target ?? '';
  const start = async (): Promise<void> => {
    await tools.slipway('rollout', 'start', POOL, '--watch', '--timeout', '8m');
  };
  return {
    target,
    begin: async (pods) => {
      await untilPodsReady(tools, pods);
      await tools.kubectl('apply', '-f', 'deploy/samples');
      const rendered = ['--for=condition=RenderDegraded=False', '--timeout=2m'];
      await tools.kubectl('wait', 'mcp', POOL, ...rendered);
      await start();
    },
    roll: async (config) => {
      const before = target();
      await manifestsWith(cluster.adminKubeconfig).applyObject(config);
      await until(record, 'the pool has another config', () => target() !== before);
      await start();
    },
  };
}

interface Place {
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  readonly directory: string;
}

async function bareMachines({
  image,
  hosts,
  cluster,
  temporal,
  directory,
}: Place & { readonly image: string; readonly hosts: number }): Promise<readonly Machine[]> {
  const machines: Machine[] = [];
  const addresses = Array.from({ length: hosts }, (_, index) => `10.211.0.${11 + index}`);
  for (const index of addresses.keys()) {
    const machine = await createMachine({
      directory: join(directory, 'machines'),
      ...{ name: `worker-${index}`, number: index + 1, image },
      kernelArguments: ['root=/dev/vda', 'ro'],
    });
    machines.push(machine);
    await joinPool(machine, {
      ...{ cluster, pointer: NO_POINTER, bare: true, hostEndpoint: '' },
      temporal: temporal.address,
      files: { '/etc/hosts': addresses.map((address) => `${address} ${SERVER}\n`).join('') },
    });
    await machine.launcher.powerOn();
  }
  return machines;
}

async function giveImages(machines: readonly Machine[], directory: string): Promise<void> {
  const tree = join(directory, 'image-tree');
  execFileSync(process.execPath, [join(ROOT, 'tools/setup/image-tree.mjs'), tree]);
  const built = await createContainerImages(join(directory, 'buildah'));
  const names = [`localhost/slipway:${VERSION}`, `localhost/slipway-host:${VERSION}`] as const;
  await built.build(names[0], 'deploy/Containerfile', tree);
  await built.build(names[1], 'deploy/Containerfile.host', join(ROOT, 'dist/host-bundle'));
  for (const machine of machines) await built.give(machine, ...names);
}

type Tools = Pick<SelfHosted, 'kubectl' | 'slipway' | 'readyPods'>;

async function toolsOf(cluster: Cluster, temporal: TemporalServer): Promise<Tools> {
  const kubectl = await ensureBinary('kubectl');
  const environment = {
    KUBECONFIG: cluster.adminKubeconfig,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
  };
  return {
    kubectl: (...args) => execute(kubectl, args, { environment }),
    slipway: (...args) =>
      execute(process.execPath, [join(ROOT, 'dist/cli/main.js'), ...args], { environment }),
    readyPods: async () => {
      const { items } = await cluster.admin.call<{ items: readonly Pod[] }>('GET', PODS);
      return items
        .filter(isReady)
        .map(({ metadata, spec }) => `${metadata.name} on ${spec.nodeName}`);
    },
  };
}

const PODS = '/api/v1/namespaces/slipway/pods';

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly conditions?: readonly { type: string; status: string }[] };
}

function isReady({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return (status.conditions ?? []).some(
    ({ type, status: is }) => type === 'Ready' && is === 'True',
  );
}

/** Pods have no network of their own here, and nothing answers at addresses of Services. */
const DIFFERENCES = [
  { op: 'add', path: '/spec/template/spec/hostNetwork', value: true },
  ...[
    { name: 'KUBERNETES_SERVICE_HOST', value: CONTROL_PLANE },
    { name: 'KUBERNETES_SERVICE_PORT', value: '' },
  ].map((value) => ({ op: 'add', path: '/spec/template/spec/containers/0/env/-', value })),
];

async function installControlPlane(tools: Tools, { cluster, temporal, directory }: Place) {
  const site = join(directory, 'site');
  await mkdir(site, { recursive: true });
  const port = new URL(cluster.server).port;
  const patch = JSON.stringify(DIFFERENCES).replace('"value":""', `"value":"${port}"`);
  const data = {
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    SLIPWAY_SERVER_NAMES: SERVER,
  };
  const namespace = 'slipway';
  const settings = {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
    metadata: { name: 'slipway-settings', namespace },
  };
  await writeFile(
    join(site, 'kustomization.yaml'),
    stringify({
      resources: [relative(site, join(ROOT, 'deploy'))],
      images: [{ name: 'registry.example.com/slipway', newName: 'localhost/slipway' }],
      patches: [
        { patch: stringify(settings) },
        { target: { kind: 'Deployment', namespace }, patch },
      ],
    }),
  );
  process.stderr.write(`differences from docs/install.md: ${patch}; port 22624 of the machines\n`);
  await tools.slipway('setup', 'temporal');
  await tools.kubectl('apply', '-k', site);
  await tools.kubectl('label', 'nodes', '--all', 'node-role.kubernetes.io/worker=', '--overwrite');
}

async function installHostWorkers(
  tools: Tools,
  { temporal, directory }: Pick<Place, 'temporal' | 'directory'>,
): Promise<void> {
  const overlay = join(directory, 'site/installer');
  const hostEndpoint = `https://${SERVER}:22624`;
  const authority = await publishedAuthority(tools);
  const base = 'deploy/installer';
  const place = { base, version: VERSION, temporal, hostEndpoint, authority };
  await writeInstallerOverlay(overlay, place);
  await tools.kubectl('apply', '-k', overlay);
}

/** That the controllers have made. */
async function publishedAuthority({ kubectl }: Tools): Promise<string> {
  const get = ['-n', 'slipway', 'get', 'configmap', 'slipway-server-ca', '--ignore-not-found'];
  const read = () => kubectl(...get, '-o', 'jsonpath={.data.ca\\.crt}');
  await eventually(async () => (await read()) !== '', 'an authority is published', PODS_MS);
  return read();
}

export async function untilPodsReady({ readyPods }: Tools, count: number): Promise<void> {
  const holds = async () => (await readyPods()).length >= count;
  await eventually(holds, `${count} pods of Slipway are ready`, PODS_MS);
}
