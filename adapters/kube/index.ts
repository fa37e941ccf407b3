/**
 * The Kubernetes API as Slipway uses it: a client, resuming watches, caches, and writers with one
 * request per change. Imports only `core/` of Slipway.
 */

export { codeOf, type ApiStatus } from './api-errors';
export {
  WatchCache,
  type CacheEvent,
  type CacheListener,
  type CacheOptions,
  type CacheView,
} from './cache';
export {
  connectKube,
  KubeClient,
  type KubeSettings,
  type ListOptions,
  type ListResult,
  type PatchKind,
  type Shrink,
  type WatchEvent,
  type WatchOptions,
} from './client';
export {
  absorbInto,
  createClusterCaches,
  createPoolCaches,
  runCaches,
  unsyncedKinds,
  whenCachesSynced,
  type ClusterCaches,
  type PoolCaches,
} from './cluster-caches';
export { findMco } from './mco-presence';
export { NodePods, type Eviction } from './node-pods';
export * from './resources';
export type { Log } from './transport';
export { trimBudget, trimNode, trimPod, trimToName } from './trim';
export { followChanges, type WatchHandler, type WatchSource, type WatchTarget } from './watch';
export {
  EventWriter,
  MachineConfigNodeWriter,
  NodeWriter,
  PoolWriter,
  type AppliedStatus,
  type NodePatch,
} from './writers';
