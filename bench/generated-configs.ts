/**
 * A change for all kubelets of a large cluster: how many renders and writes it costs until the pools
 * have their config. Real API server, real controllers; the nodes are objects, and no rollout starts.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '@kubernetes/client-node';
import { WatchCache } from '../adapters/kube/cache';
import { connectKube, type KubeClient } from '../adapters/kube/client';
import {
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  type KubeObject,
  type Resource,
} from '../adapters/kube/resources';
import { runControllers } from '../controllers/main';
import { controllerSettings } from '../controllers/settings';
import { createLogger } from '../process/logging';
import { startCluster, type Cluster } from '../tools/cluster';
import { postNodes } from '../tools/cluster/nodes';
import { manifestsWith } from '../tools/stack/manifests';

const MCO = 'machineconfiguration.openshift.io/v1';
const ROLE = 'machineconfiguration.openshift.io/role';
const POOLS = ['worker', 'master', 'infra'];
const KUBELET_CONFIGS = 3;
/** Without a change of any pool for so long, it is over. */
const QUIET_MS = 5_000;
const BASE = encodeURIComponent('kind: KubeletConfiguration\nmaxPods: 110\n');

interface GeneratedBenchResult {
  readonly name: 'generated-configs';
  readonly nodes: number;
  readonly changedMachineConfigs: number;
  readonly rendersPerPool: number;
  /** From the change to the last pool on its config. */
  readonly seconds: number;
  /** Events that watchers get: of MachineConfigs, pools, Nodes and MachineConfigNodes. */
  readonly events: Readonly<Record<string, number>>;
}

export async function runGeneratedBench(options: {
  readonly nodes: number;
  readonly onStep: (text: string) => void;
}): Promise<GeneratedBenchResult> {
  options.onStep('starting the control plane');
  const cluster = await startCluster({ kwok: false });
  const stop = new AbortController();
  let controllers: Promise<void> | undefined;
  try {
    options.onStep(`creating ${options.nodes} nodes`);
    await createObjects(cluster, options.nodes);
    const log = createLogger({ process: 'bench', level: 'error' });
    const settings = controllerSettings(
      { kubeconfig: cluster.adminKubeconfig, metricsPort: 0 },
      {},
    );
    const gateway = { wake: () => Promise.resolve(), isOpen: () => Promise.resolve(false) };
    controllers = runControllers(settings, stop.signal, { log, gateway });
    const kube = await connectKube({
      ...{ kubeconfig: cluster.adminKubeconfig, environment: process.env },
      ...{ userAgent: 'slipway-bench', log },
    });
    const watched = watch(kube, stop.signal);
    await watched.quiet();
    options.onStep('changing the feature gates');
    const before = watched.counts();
    const rendered = watched.rendered();
    const startedAt = performance.now();
    await manifestsWith(cluster.adminKubeconfig).applyObject(featureGate());
    const endedAt = await watched.quiet();
    const after = watched.counts();
    kube.close();
    return {
      ...{ name: 'generated-configs', nodes: options.nodes },
      changedMachineConfigs: POOLS.length - 1 + KUBELET_CONFIGS * POOLS.length,
      rendersPerPool: (watched.rendered() - rendered) / POOLS.length,
      seconds: (endedAt - startedAt) / 1000,
      events: Object.fromEntries(
        Object.entries(after).map(([kind, count]) => [kind, count - (before[kind] ?? 0)]),
      ),
    };
  } finally {
    stop.abort();
    await controllers;
    await cluster.stop();
  }
}

async function createObjects(cluster: Cluster, nodes: number): Promise<void> {
  const manifests = manifestsWith(cluster.adminKubeconfig);
  await manifests.applyFiles('deploy/crds');
  const names = Array.from({ length: nodes }, (_, i) => `node-${i}`);
  const labels = { 'node-role.kubernetes.io/worker': '' };
  await postNodes(
    cluster.admin,
    names.map((name) => ({ name, labels })),
  );
  for (const role of ['worker', 'master']) {
    await manifests.applyObject({
      ...{ apiVersion: MCO, kind: 'MachineConfig' },
      metadata: { name: `01-${role}-kubelet`, labels: { [ROLE]: role } },
      spec: {
        config: {
          ignition: { version: '3.5.0' },
          storage: {
            files: [
              { path: '/etc/kubernetes/kubelet.conf', contents: { source: `data:,${BASE}` } },
            ],
          },
        },
      },
    } as KubernetesObject);
  }
  for (const pool of POOLS) await manifests.applyObject(poolOf(pool));
  for (let i = 0; i < KUBELET_CONFIGS; i += 1) {
    await manifests.applyObject({
      ...{ apiVersion: MCO, kind: 'KubeletConfig', metadata: { name: `kubelets-${i}` } },
      spec: {
        machineConfigPoolSelector: { matchLabels: { all: '' } },
        kubeletConfig: { maxPods: 100 + i },
      },
    } as KubernetesObject);
  }
}

function poolOf(name: string): KubernetesObject {
  const roles = name === 'infra' ? ['worker', 'infra'] : [name];
  return {
    ...{ apiVersion: MCO, kind: 'MachineConfigPool', metadata: { name, labels: { all: '' } } },
    spec: {
      machineConfigSelector: { matchExpressions: [{ key: ROLE, operator: 'In', values: roles }] },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    },
  } as KubernetesObject;
}

function featureGate(): KubernetesObject {
  const customNoUpgrade = { enabled: ['NodeSwap'] };
  return {
    ...{ apiVersion: 'config.openshift.io/v1', kind: 'FeatureGate', metadata: { name: 'cluster' } },
    spec: { featureSet: 'CustomNoUpgrade', customNoUpgrade },
  } as KubernetesObject;
}

/** Counts what every watcher of the cluster hears. */
function watch(kube: KubeClient, signal: AbortSignal) {
  const counts: Record<string, number> = {};
  let lastAt = performance.now();
  const of = <T extends KubeObject>(resource: Resource<T>): WatchCache<T> => {
    const cache = new WatchCache<T>({
      resource,
      log: createLogger({ process: 'bench', level: 'error' }),
    });
    cache.subscribe(() => {
      counts[resource.plural] = (counts[resource.plural] ?? 0) + 1;
      if (resource.plural === MACHINE_CONFIG_POOLS.plural) lastAt = performance.now();
    });
    void cache.run(kube, signal);
    return cache;
  };
  const configs = of(MACHINE_CONFIGS);
  const pools = of(MACHINE_CONFIG_POOLS);
  for (const resource of [NODES, MACHINE_CONFIG_NODES] as readonly Resource[]) of(resource);
  return {
    counts: () => ({ ...counts }),
    rendered: () =>
      configs.list().filter(({ metadata }) => metadata.name.startsWith('rendered-')).length,
    /** When the last pool has changed. */
    quiet: async (): Promise<number> => {
      lastAt = performance.now();
      const isDone = (): boolean =>
        pools.list().every(({ spec }) => spec.configuration?.name !== undefined) &&
        performance.now() - lastAt > QUIET_MS;
      while (!isDone()) await delay(100);
      return lastAt;
    },
  };
}
