export { WatchCache, type CacheEvent, type CacheView } from './cache';
export { connectKube, KubeClient } from './client';
export * from './resources';
export { trimNode } from './trim';
