/**
 * Each is loaded only when it runs: a host worker must not carry the Kubernetes client, nor
 * `slipway get` a Temporal worker.
 */

import type { ProcessEntry } from './process-command';

export const PROCESSES: readonly ProcessEntry[] = [
  {
    name: 'controllers',
    description:
      'run the controllers: render configs, report pool status, follow nodes, start rollouts',
    load: async () => (await import('./controllers.js')).controllersCommand,
  },
  {
    name: 'cluster-worker',
    description: 'run the workflows and the cluster activities',
    load: async () => (await import('./cluster-worker.js')).clusterWorkerCommand,
  },
  {
    name: 'host-worker',
    description: 'run the host activities of this machine, or of many simulated machines',
    load: async () => (await import('./host-worker.js')).hostWorkerCommand,
  },
  {
    name: 'host-settle',
    description: 'before the kubelet starts: finish or undo an update that a power cut interrupted',
    load: async () => (await import('./host-settle.js')).hostSettleCommand,
  },
  {
    name: 'host-first-boot',
    description: 'before the kubelet starts: complete the first boot of a new machine',
    load: async () => (await import('./host-first-boot.js')).hostFirstBootCommand,
  },
  {
    name: 'server',
    description: 'run the server of first configs and of rendered configs',
    load: async () => (await import('./server.js')).serverCommand,
  },
];
