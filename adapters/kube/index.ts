/**
 * The Kubernetes API as Slipway uses it: a client, resuming watches, caches, and writers with one
 * request per change. Imports only `core/` of Slipway.
 */

export { WatchCache, type CacheView } from './cache';
export { connectKube, KubeClient } from './client';
export * from './resources';
export { trimNode } from './trim';
