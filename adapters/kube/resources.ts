import type { MachineConfiguration } from '../../core/disruption/types';
import type { Pod, PodDisruptionBudget } from '../../core/drain';
import { fail } from '../../core/errors';
import type { Origin } from '../../core/generated-configs';
import type { MachineConfig } from '../../core/machine-config/types';
import {
  CONFIG_GROUP,
  MCO_GROUP,
  MCO_VERSION,
  OPERATOR_GROUP,
  SLIPWAY_GROUP,
  SLIPWAY_VERSION,
} from '../../core/names';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { ObjectMeta } from '../../core/object-meta';
import type { ClusterOperator, Slipway } from '../../core/operator-status';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import type {
  ImageContentSourcePolicy,
  ImageDigestMirrorSet,
  ImagePolicy,
  ImageSpec,
  ImageTagMirrorSet,
} from '../../core/registries';
import type { PoolRollout } from '../../core/rollout/pool-rollout';
import { withReport } from './host-report';

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** `T` has the fields that Slipway reads. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** Empty = the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** What of it is stored in another form than `T`; absent = nothing. */
  read?(stored: T): T;
}

function resource<T extends KubeObject>(
  group: string,
  version: string,
  plural: string,
  kind: string,
  namespaced = false,
): Resource<T> {
  return { group, version, plural, kind, namespaced };
}

export interface ImageConfig extends KubeObject {
  readonly spec?: ImageSpec;
}

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export interface Secret extends KubeObject {
  readonly type?: string;
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const SECRETS = resource<Secret>('', 'v1', 'secrets', 'Secret', true);
export const CONFIG_MAPS = resource<ConfigMap>('', 'v1', 'configmaps', 'ConfigMap', true);
export const NODES = resource<Node>('', 'v1', 'nodes', 'Node');
export const PODS = resource<Pod>('', 'v1', 'pods', 'Pod', true);
export const NAMESPACES = resource<KubeObject>('', 'v1', 'namespaces', 'Namespace');
export const EVENTS = resource<KubeObject>('', 'v1', 'events', 'Event', true);
export const LEASES = resource<Lease>('coordination.k8s.io', 'v1', 'leases', 'Lease', true);
export const POD_DISRUPTION_BUDGETS = resource<PodDisruptionBudget>(
  'policy',
  'v1',
  'poddisruptionbudgets',
  'PodDisruptionBudget',
  true,
);
export const DAEMON_SETS = resource<KubeObject>('apps', 'v1', 'daemonsets', 'DaemonSet', true);
export const DEPLOYMENTS = resource<KubeObject>('apps', 'v1', 'deployments', 'Deployment', true);
export const MACHINE_CONFIGS = resource<MachineConfig>(
  MCO_GROUP,
  MCO_VERSION,
  'machineconfigs',
  'MachineConfig',
);
export const MACHINE_CONFIG_POOLS = resource<MachineConfigPool>(
  MCO_GROUP,
  MCO_VERSION,
  'machineconfigpools',
  'MachineConfigPool',
);
export const MACHINE_CONFIG_NODES: Resource<MachineConfigNode> = {
  ...resource<MachineConfigNode>(MCO_GROUP, MCO_VERSION, 'machineconfignodes', 'MachineConfigNode'),
  read: withReport,
};
export const CONTROLLER_CONFIGS = resource<KubeObject>(
  MCO_GROUP,
  MCO_VERSION,
  'controllerconfigs',
  'ControllerConfig',
);
export const OS_IMAGE_STREAMS = resource<KubeObject>(
  MCO_GROUP,
  'v1alpha1',
  'osimagestreams',
  'OSImageStream',
);
export const PINNED_IMAGE_SETS = resource<KubeObject>(
  MCO_GROUP,
  MCO_VERSION,
  'pinnedimagesets',
  'PinnedImageSet',
);
export const KUBELET_CONFIGS = resource<Origin>(
  MCO_GROUP,
  MCO_VERSION,
  'kubeletconfigs',
  'KubeletConfig',
);
export const FEATURE_GATES = resource<KubeObject>(
  CONFIG_GROUP,
  'v1',
  'featuregates',
  'FeatureGate',
);
/** Settings of all machines; not the Node of one. */
export const CONFIG_NODES = resource<KubeObject>(CONFIG_GROUP, 'v1', 'nodes', 'Node');
export const API_SERVERS = resource<KubeObject>(CONFIG_GROUP, 'v1', 'apiservers', 'APIServer');
export const CONTAINER_RUNTIME_CONFIGS = resource<Origin>(
  MCO_GROUP,
  MCO_VERSION,
  'containerruntimeconfigs',
  'ContainerRuntimeConfig',
);
/** Of the registries of the cluster; not one image. */
export const IMAGE_CONFIGS = resource<ImageConfig>(CONFIG_GROUP, 'v1', 'images', 'Image');
export const IMAGE_DIGEST_MIRROR_SETS = resource<ImageDigestMirrorSet>(
  CONFIG_GROUP,
  'v1',
  'imagedigestmirrorsets',
  'ImageDigestMirrorSet',
);
export const IMAGE_TAG_MIRROR_SETS = resource<ImageTagMirrorSet>(
  CONFIG_GROUP,
  'v1',
  'imagetagmirrorsets',
  'ImageTagMirrorSet',
);
export const IMAGE_CONTENT_SOURCE_POLICIES = resource<ImageContentSourcePolicy>(
  OPERATOR_GROUP,
  'v1alpha1',
  'imagecontentsourcepolicies',
  'ImageContentSourcePolicy',
);
export const CLUSTER_IMAGE_POLICIES = resource<ImagePolicy>(
  CONFIG_GROUP,
  'v1',
  'clusterimagepolicies',
  'ClusterImagePolicy',
);
export const IMAGE_POLICIES = resource<ImagePolicy>(
  CONFIG_GROUP,
  'v1',
  'imagepolicies',
  'ImagePolicy',
  true,
);
export const ROLLOUT_POLICIES = resource<RolloutPolicy>(
  SLIPWAY_GROUP,
  SLIPWAY_VERSION,
  'rolloutpolicies',
  'RolloutPolicy',
);
export const POOL_ROLLOUTS = resource<PoolRollout>(
  SLIPWAY_GROUP,
  SLIPWAY_VERSION,
  'poolrollouts',
  'PoolRollout',
);
export const SLIPWAYS = resource<Slipway>(SLIPWAY_GROUP, SLIPWAY_VERSION, 'slipways', 'Slipway');
/** Served by OpenShift alone. */
export const CLUSTER_OPERATORS = resource<ClusterOperator>(
  CONFIG_GROUP,
  'v1',
  'clusteroperators',
  'ClusterOperator',
);
export const MACHINE_CONFIGURATIONS = resource<MachineConfiguration>(
  OPERATOR_GROUP,
  'v1',
  'machineconfigurations',
  'MachineConfiguration',
);

/** The collection when there is no name. */
export interface ObjectKey {
  readonly name?: string;
  readonly namespace?: string;
  readonly subresource?: string;
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** @throws `ObjectNotFound` for an empty name, whose path would be that of all objects */
export function pathOf(resource: Resource, key: ObjectKey = {}): string {
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`;
  const parts = [root, resource.version];
  if (key.namespace !== undefined) parts.push('namespaces', encodeURIComponent(key.namespace));
  parts.push(resource.plural);
  if (key.name === '') throw fail('ObjectNotFound', `there is no ${resource.kind} without a name`);
  if (key.name !== undefined) parts.push(encodeURIComponent(key.name));
  if (key.subresource !== undefined) parts.push(key.subresource);
  return parts.join('/');
}

/** `Node worker-3` or `Pod shop/cart`. */
export function describeObject(resource: Resource, key: ObjectKey): string {
  if (key.name === undefined) return resource.plural;
  const scope = key.namespace === undefined ? '' : `${key.namespace}/`;
  return `${resource.kind} ${scope}${key.name}`;
}
