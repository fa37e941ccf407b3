/**
 * The processes of Slipway. Each is loaded only when it is the one that runs: a host worker must not
 * carry the Kubernetes client, and `slipway get` no Temporal worker.
 */

import type { ProcessEntry } from './process-command';

export const PROCESSES: readonly ProcessEntry[] = [
  {
    name: 'controllers',
    description: 'run the controllers: render, pool status, nodes, start of rollouts',
    load: async () => (await import('./controllers.js')).controllersCommand,
  },
  {
    name: 'cluster-worker',
    description: 'run the workflows and the cluster activities',
    load: async () => (await import('./cluster-worker.js')).clusterWorkerCommand,
  },
  {
    name: 'host-worker',
    description: 'run the host activities of this machine; with --simulate, of many simulated ones',
    load: async () => (await import('./host-worker.js')).hostWorkerCommand,
  },
  {
    name: 'host-settle',
    description: 'before the kubelet: settle what a power cut left of an update on this machine',
    load: async () => (await import('./host-settle.js')).hostSettleCommand,
  },
  {
    name: 'host-first-boot',
    description: 'before the kubelet: complete what Ignition has begun on a new machine',
    load: async () => (await import('./host-first-boot.js')).hostFirstBootCommand,
  },
  {
    name: 'server',
    description: 'run the server that hands rendered configs to hosts',
    load: async () => (await import('./server.js')).serverCommand,
  },
];
