/** The Kubernetes API as Slipway uses it. */

export { WatchCache, type CacheView } from './cache';
export { connectKube, KubeClient } from './client';
export * from './resources';
export { trimNode } from './trim';
