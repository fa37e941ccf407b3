/** What the controllers see of the cluster: one watch-fed cache per kind. */

import { WatchCache, type CacheView } from '../adapters/kube/cache';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  ROLLOUT_POLICIES,
  type KubeObject,
  type Resource,
} from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import { trimNode } from '../adapters/kube/trim';
import type { WatchSource } from '../adapters/kube/watch';
import type { MachineConfig } from '../core/machine-config/types';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';

/** The lookups that controllers decide from. They cost no request. */
export interface ClusterPicture {
  readonly nodes: CacheView<Node>;
  readonly pools: CacheView<MachineConfigPool>;
  readonly machineConfigs: CacheView<MachineConfig>;
  readonly machineConfigNodes: CacheView<MachineConfigNode>;
  readonly policies: CacheView<RolloutPolicy>;
  readonly controllerConfigs: CacheView<KubeObject>;
}

/** Index of `machineConfigs`: rendered configs by the name of the pool that owns them. */
export const BY_POOL = 'pool';

export class ClusterCaches implements ClusterPicture {
  readonly nodes: WatchCache<Node>;
  readonly pools: WatchCache<MachineConfigPool>;
  readonly machineConfigs: WatchCache<MachineConfig>;
  readonly machineConfigNodes: WatchCache<MachineConfigNode>;
  readonly policies: WatchCache<RolloutPolicy>;
  readonly controllerConfigs: WatchCache<KubeObject>;

  constructor(log: Log) {
    this.nodes = new WatchCache({ resource: NODES, transform: trimNode, log });
    this.pools = new WatchCache({ resource: MACHINE_CONFIG_POOLS, log });
    this.machineConfigs = new WatchCache({
      resource: MACHINE_CONFIGS,
      indexes: { [BY_POOL]: owningPools },
      log,
    });
    this.machineConfigNodes = new WatchCache({ resource: MACHINE_CONFIG_NODES, log });
    this.policies = new WatchCache({ resource: ROLLOUT_POLICIES, log });
    this.controllerConfigs = new WatchCache({ resource: CONTROLLER_CONFIGS, log });
  }

  /** The kinds that have not been listed yet. */
  get unsynced(): readonly string[] {
    return this.#all.filter(({ isSynced }) => !isSynced).map(({ resource }) => resource.plural);
  }

  /** Resolves when every kind has been listed once. */
  async synced(): Promise<void> {
    await Promise.all(this.#all.map((cache) => cache.synced));
  }

  /** Follows the cluster until the signal aborts. */
  async run(source: WatchSource, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((cache) => cache.run(source, signal)));
  }

  /** Takes the reply to an own write over, so that the next decision sees it. */
  absorb(resource: Resource, object: KubeObject): void {
    const cache = this.#all.find(({ resource: { plural } }) => plural === resource.plural);
    (cache as WatchCache<KubeObject> | undefined)?.absorb(object);
  }

  get #all(): readonly Pick<WatchCache<KubeObject>, 'isSynced' | 'synced' | 'run' | 'resource'>[] {
    return [
      this.nodes,
      this.pools,
      this.machineConfigs,
      this.machineConfigNodes,
      this.policies,
      this.controllerConfigs,
    ];
  }
}

/** The pools that own a rendered config: one, or none for what a person wrote. */
export function owningPools(config: MachineConfig): readonly string[] {
  return (config.metadata.ownerReferences ?? [])
    .filter(({ kind, controller }) => kind === 'MachineConfigPool' && controller === true)
    .map(({ name }) => name);
}
