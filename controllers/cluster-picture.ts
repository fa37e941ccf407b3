import { WatchCache, type CacheView } from '../adapters/kube/cache';
import {
  createPoolCaches,
  machineConfigurationCache,
  type PoolCaches,
} from '../adapters/kube/cluster-caches';
import {
  API_SERVERS,
  CONFIG_NODES,
  CONTROLLER_CONFIGS,
  FEATURE_GATES,
  KUBELET_CONFIGS,
  MACHINE_CONFIGS,
  type KubeObject,
} from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import type { MachineConfiguration } from '../core/disruption/types';
import type { Origin } from '../core/generated-configs';
import type { MachineConfig } from '../core/machine-config/types';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';

export interface ClusterPicture {
  readonly nodes: CacheView<Node>;
  readonly pools: CacheView<MachineConfigPool>;
  readonly machineConfigs: CacheView<MachineConfig>;
  readonly machineConfigNodes: CacheView<MachineConfigNode>;
  readonly policies: CacheView<RolloutPolicy>;
  readonly controllerConfigs: CacheView<KubeObject>;
  readonly kubeletConfigs: CacheView<Origin>;
  /** These three have one object, `cluster`, where their kind is served. */
  readonly featureGates: CacheView<KubeObject>;
  readonly configNodes: CacheView<KubeObject>;
  readonly apiServers: CacheView<KubeObject>;
}

export interface ControllerCaches extends PoolCaches {
  readonly machineConfigs: WatchCache<MachineConfig>;
  readonly controllerConfigs: WatchCache<KubeObject>;
  readonly machineConfigurations: WatchCache<MachineConfiguration>;
  readonly kubeletConfigs: WatchCache<Origin>;
  readonly featureGates: WatchCache<KubeObject>;
  readonly configNodes: WatchCache<KubeObject>;
  readonly apiServers: WatchCache<KubeObject>;
}

/** Index of `machineConfigs`: rendered configs by their pool. */
export const BY_POOL = 'pool';

export function createControllerCaches(log: Log): ControllerCaches {
  return {
    ...createPoolCaches(log),
    machineConfigs: new WatchCache({
      resource: MACHINE_CONFIGS,
      indexes: { [BY_POOL]: owningPools },
      log,
    }),
    controllerConfigs: new WatchCache({ resource: CONTROLLER_CONFIGS, log }),
    machineConfigurations: machineConfigurationCache(log),
    kubeletConfigs: new WatchCache({ resource: KUBELET_CONFIGS, log, optional: true }),
    featureGates: new WatchCache({ resource: FEATURE_GATES, log, optional: true }),
    configNodes: new WatchCache({ resource: CONFIG_NODES, log, optional: true }),
    apiServers: new WatchCache({ resource: API_SERVERS, log, optional: true }),
  };
}

/** None for a MachineConfig of a person. */
export function owningPools(config: MachineConfig): readonly string[] {
  return (config.metadata.ownerReferences ?? [])
    .filter(({ kind, controller }) => kind === 'MachineConfigPool' && controller === true)
    .map(({ name }) => name);
}
