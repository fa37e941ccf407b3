import { isDeepStrictEqual } from 'node:util';
import {
  type CacheEvent,
  type KubeClient,
  MACHINE_CONFIG_POOLS,
  NODES,
  type CacheView,
  type KubeObject,
  trimNode,
  WatchCache,
} from '../adapters/kube';
import { machineConfigurationCache } from '../adapters/kube/cluster-caches';
import { hostReport } from '../adapters/kube/host-report';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIGS,
  PINNED_IMAGE_SETS,
  POOL_ROLLOUTS,
  ROLLOUT_POLICIES,
} from '../adapters/kube/resources';
import { unlessAbsent } from '../adapters/kube/unless-absent';
import { MACHINE_CONFIGURATION } from '../core/disruption';
import { driftCondition } from '../core/drift';
import { bundleShown } from '../core/host-bundle';
import { updatersShown } from '../core/machine/updaters';
import { FIELD_MANAGER } from '../core/names';
import type { MachineConfigNode, Node } from '../core/node/types';
import { pinnedShown } from '../core/pinned-images';
import type { MachineConfigPool } from '../core/pool/types';
import type { Logger } from '../process/logging';
import type {
  ClusterView,
  ReadMachineConfig,
  ReadNode,
  ReadPools,
  WriteConditions,
  WriteDrift,
} from './ports';

interface ClusterWatch {
  readonly view: ClusterView;
  readonly pools: CacheView<MachineConfigPool>;
  readonly nodes: CacheView<Node>;
  readonly controllerConfigs: CacheView<KubeObject>;
  /** Since the last news of the objects of first configs. */
  silentMs(): number;
  run(client: KubeClient, signal: AbortSignal): Promise<void>;
}

export function watchCluster(log: Logger): ClusterWatch {
  const nodes = new WatchCache({ resource: NODES, log, transform: trimNode });
  const pools = new WatchCache({ resource: MACHINE_CONFIG_POOLS, log });
  const machineConfigNodes = new WatchCache({
    resource: MACHINE_CONFIG_NODES,
    log,
    transform: trimMachineConfigNode,
  });
  const policies = new WatchCache({ resource: ROLLOUT_POLICIES, log });
  const machineConfigurations = machineConfigurationCache(log);
  const controllerConfigs = new WatchCache({ resource: CONTROLLER_CONFIGS, log });
  const rollouts = new WatchCache({ resource: POOL_ROLLOUTS, log });
  const pinned = new WatchCache({ resource: PINNED_IMAGE_SETS, log, optional: true });
  const caches = [
    ...[nodes, pools, machineConfigNodes, policies, machineConfigurations, controllerConfigs],
    ...[rollouts, pinned],
  ];
  return {
    pools,
    nodes,
    controllerConfigs,
    silentMs: () => Math.max(pools.silentMs, controllerConfigs.silentMs),
    view: {
      node: (name) => nodes.get(name),
      nodes: () => nodes.list(),
      pools: () => pools.list(),
      machineConfigNode: (name) => machineConfigNodes.get(name),
      granted: (pool) =>
        (rollouts.get(pool)?.status?.grants ?? [])
          .filter(({ serves }) => serves !== true)
          .map(({ node }) => node),
      policy: (pool) => policies.get(pool),
      machineConfiguration: () => machineConfigurations.get(MACHINE_CONFIGURATION),
      pinnedImageSets: () => pinned.list(),
      missing: () =>
        caches.filter(({ isSynced }) => !isSynced).map(({ resource }) => resource.plural),
      onMoved(listener) {
        const ends = [
          nodes.subscribe((event) => {
            if (differs(event, ({ metadata }) => metadata.labels))
              listener(event.object.metadata.name);
          }),
          pools.subscribe((event) => {
            if (differs(event, ({ spec }) => spec.nodeSelector)) listener();
          }),
        ];
        return () => ends.forEach((end) => end());
      },
    },
    run: async (client, signal) => {
      await Promise.all(caches.map((cache) => cache.run(client, signal)));
    },
  };
}

/** An object that came or went differs in everything. */
function differs<T>(event: CacheEvent<T>, part: (object: T) => unknown): boolean {
  if (event.type !== 'modified') return true;
  return !isDeepStrictEqual(part(event.object), part(event.previous));
}

/** Of thousands of objects, only the owner and the fields to compare are kept. */
export function trimMachineConfigNode(known: MachineConfigNode): MachineConfigNode {
  const { name, uid, resourceVersion, ownerReferences } = known.metadata;
  const owners = ownerReferences?.filter(({ kind }) => kind === 'Node');
  const shown = [driftCondition(known), updatersShown(known), bundleShown(known)];
  const conditions = [...shown.flatMap((condition) => condition ?? []), ...pinnedShown(known)];
  const { configVersion, drift, hostWorker } = known.status ?? {};
  return {
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(owners === undefined ? {} : { ownerReferences: owners }),
    },
    spec: known.spec,
    status: {
      ...(conditions.length === 0 ? {} : { conditions }),
      ...(configVersion === undefined ? {} : { configVersion }),
      ...(drift === undefined ? {} : { drift }),
      ...(hostWorker === undefined ? {} : { hostWorker }),
    },
  };
}

/** Applies only the server's conditions. */
export function driftWriter(client: KubeClient): WriteDrift {
  return (name, { condition, updaters, ...report }) => {
    const conditions = [condition, hostReport(report, condition), updaters ?? []].flat();
    return client.apply(
      MACHINE_CONFIG_NODES,
      { metadata: { name }, status: { conditions } },
      { fieldManager: FIELD_MANAGER.SERVER, subresource: 'status' },
    );
  };
}

/** @param fieldManager - of this writer alone: another one would take its conditions away */
export function conditionWriter(client: KubeClient, fieldManager: string): WriteConditions {
  return async (name, conditions) =>
    trimMachineConfigNode(
      await client.apply(
        MACHINE_CONFIG_NODES,
        { metadata: { name }, status: { conditions } },
        { fieldManager, subresource: 'status' },
      ),
    );
}

export function machineConfigReader(client: KubeClient): ReadMachineConfig {
  return (name) => unlessAbsent(client.get(MACHINE_CONFIGS, { name }));
}

export function nodeReader(client: KubeClient): ReadNode {
  return (name) => unlessAbsent(client.get(NODES, { name }));
}

export function poolReader(client: KubeClient): ReadPools {
  return async () => (await client.list(MACHINE_CONFIG_POOLS)).items;
}

/** The smallest read; NotFound is an answer, too. */
export function clusterQuestion(client: KubeClient): () => Promise<unknown> {
  return () => unlessAbsent(client.get(MACHINE_CONFIG_POOLS, { name: 'worker' }));
}
