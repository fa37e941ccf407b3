import { WatchCache, type CacheView } from '../adapters/kube/cache';
import {
  createPoolCaches,
  machineConfigurationCache,
  type PoolCaches,
} from '../adapters/kube/cluster-caches';
import {
  API_SERVERS,
  CLUSTER_IMAGE_POLICIES,
  CONFIG_NODES,
  CONTAINER_RUNTIME_CONFIGS,
  CONTROLLER_CONFIGS,
  FEATURE_GATES,
  IMAGE_CONFIGS,
  IMAGE_CONTENT_SOURCE_POLICIES,
  IMAGE_DIGEST_MIRROR_SETS,
  IMAGE_POLICIES,
  IMAGE_TAG_MIRROR_SETS,
  KUBELET_CONFIGS,
  MACHINE_CONFIGS,
  OS_IMAGE_STREAMS,
  PINNED_IMAGE_SETS,
  type ImageConfig,
  type KubeObject,
  type Resource,
} from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import type { MachineConfiguration } from '../core/disruption/types';
import type { Origin } from '../core/generated-configs';
import type { MachineConfig } from '../core/machine-config/types';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { PinnedImageSet } from '../core/pinned-images';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';
import type {
  ImageContentSourcePolicy,
  ImageDigestMirrorSet,
  ImagePolicy,
  ImageTagMirrorSet,
} from '../core/registries';

export interface ClusterPicture {
  readonly nodes: CacheView<Node>;
  readonly pools: CacheView<MachineConfigPool>;
  readonly machineConfigs: CacheView<MachineConfig>;
  readonly machineConfigNodes: CacheView<MachineConfigNode>;
  readonly policies: CacheView<RolloutPolicy>;
  readonly controllerConfigs: CacheView<KubeObject>;
  /** One object, `cluster`, where its kind is served. */
  readonly osImageStreams: CacheView<KubeObject>;
  readonly pinnedImageSets: CacheView<PinnedImageSet>;
  readonly kubeletConfigs: CacheView<Origin>;
  /** These three have one object, `cluster`, where their kind is served. */
  readonly featureGates: CacheView<KubeObject>;
  readonly configNodes: CacheView<KubeObject>;
  readonly apiServers: CacheView<KubeObject>;
  readonly containerRuntimeConfigs: CacheView<Origin>;
  /** The registries of the cluster: one object, `cluster`. */
  readonly images: CacheView<ImageConfig>;
  readonly imageDigestMirrorSets: CacheView<ImageDigestMirrorSet>;
  readonly imageTagMirrorSets: CacheView<ImageTagMirrorSet>;
  readonly imageContentSourcePolicies: CacheView<ImageContentSourcePolicy>;
  readonly clusterImagePolicies: CacheView<ImagePolicy>;
  readonly imagePolicies: CacheView<ImagePolicy>;
}

export interface ControllerCaches extends PoolCaches {
  readonly machineConfigs: WatchCache<MachineConfig>;
  readonly controllerConfigs: WatchCache<KubeObject>;
  readonly machineConfigurations: WatchCache<MachineConfiguration>;
  readonly osImageStreams: WatchCache<KubeObject>;
  readonly pinnedImageSets: WatchCache<PinnedImageSet>;
  readonly kubeletConfigs: WatchCache<Origin>;
  readonly featureGates: WatchCache<KubeObject>;
  readonly configNodes: WatchCache<KubeObject>;
  readonly apiServers: WatchCache<KubeObject>;
  readonly containerRuntimeConfigs: WatchCache<Origin>;
  readonly images: WatchCache<ImageConfig>;
  readonly imageDigestMirrorSets: WatchCache<ImageDigestMirrorSet>;
  readonly imageTagMirrorSets: WatchCache<ImageTagMirrorSet>;
  readonly imageContentSourcePolicies: WatchCache<ImageContentSourcePolicy>;
  readonly clusterImagePolicies: WatchCache<ImagePolicy>;
  readonly imagePolicies: WatchCache<ImagePolicy>;
}

/** Index of `machineConfigs`: rendered configs by their pool. */
export const BY_POOL = 'pool';

export function createControllerCaches(log: Log): ControllerCaches {
  const optional = <T extends KubeObject>(resource: Resource<T>): WatchCache<T> =>
    new WatchCache<T>({ resource, log, optional: true });
  return {
    ...createPoolCaches(log),
    machineConfigs: new WatchCache({
      resource: MACHINE_CONFIGS,
      indexes: { [BY_POOL]: owningPools },
      log,
    }),
    controllerConfigs: new WatchCache({ resource: CONTROLLER_CONFIGS, log }),
    machineConfigurations: machineConfigurationCache(log),
    osImageStreams: optional(OS_IMAGE_STREAMS),
    pinnedImageSets: optional(PINNED_IMAGE_SETS),
    kubeletConfigs: optional(KUBELET_CONFIGS),
    featureGates: optional(FEATURE_GATES),
    configNodes: optional(CONFIG_NODES),
    apiServers: optional(API_SERVERS),
    containerRuntimeConfigs: optional(CONTAINER_RUNTIME_CONFIGS),
    images: optional(IMAGE_CONFIGS),
    imageDigestMirrorSets: optional(IMAGE_DIGEST_MIRROR_SETS),
    imageTagMirrorSets: optional(IMAGE_TAG_MIRROR_SETS),
    imageContentSourcePolicies: optional(IMAGE_CONTENT_SOURCE_POLICIES),
    clusterImagePolicies: optional(CLUSTER_IMAGE_POLICIES),
    imagePolicies: optional(IMAGE_POLICIES),
  };
}

/** None for a MachineConfig of a person. */
export function owningPools(config: MachineConfig): readonly string[] {
  return (config.metadata.ownerReferences ?? [])
    .filter(({ kind, controller }) => kind === 'MachineConfigPool' && controller === true)
    .map(({ name }) => name);
}
