import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterProcess } from '../../../tools/cluster';
import type { Stack } from '../../../tools/stack/stack';
import { POOL } from '../../e2e/support/world';

export const VICTIMS = [
  'cluster-worker',
  'controllers',
  'server',
  'host-worker',
  'temporal',
  'kube-apiserver',
  'etcd',
] as const;
export type Victim = (typeof VICTIMS)[number];

/** `kill` is SIGKILL, `freeze` SIGSTOP and SIGCONT, `restart` SIGTERM. */
export const BLOWS = ['kill', 'freeze', 'restart'] as const;
export type Blow = (typeof BLOWS)[number];

/** Leases and heartbeats of a struck process must expire first. */
export const PATIENCE_MS = 240_000;

/** A pool whose processes are struck while it rolls. */
export const STRUCK = {
  nodes: { master: 0, worker: 4 },
  temporalDatabase: true,
  patienceMs: PATIENCE_MS,
  maxUnavailable: 2,
  policy: { canary: { nodes: 1 }, failureThreshold: 1, verify: { readySeconds: 1 } },
  simulation: {
    stageSeconds: 0.5,
    applySeconds: 0.5,
    rebootSeconds: 0.7,
    jitter: 0.2,
    failures: [],
  },
  workloads: [{ app: 'cart', replicas: 4, minAvailable: 3, terminationMs: 300 }],
};

/** Longer than any short heartbeat interval. */
const FROZEN_MS = 2_500;
/** Longer than the longest heartbeat (30 s) and the controllers' Lease (15 s). */
export const OUTLASTING_MS = 35_000;

/** Resolves when the process is ready again. */
export async function strike(stack: Stack, victim: Victim, blow: Blow): Promise<void> {
  if (blow === 'freeze') return freeze(pidOf(stack, victim));
  const { product, temporal, cluster } = stack;
  switch (victim) {
    case 'temporal':
      if (blow === 'kill') await temporal.kill();
      return temporal.restart();
    case 'kube-apiserver':
    case 'etcd':
      await (blow === 'kill' ? cluster.kill(victim) : cluster.end(victim));
      return cluster.start(victim);
    case 'host-worker':
      await (blow === 'kill' ? product.kill(hosts()) : product.end(hosts()));
      return product.restartHosts(POOL);
    default:
      await (blow === 'kill' ? product.kill(victim) : product.end(victim));
      return product.start(victim);
  }
}

export function stillFor(stack: Stack, victim: Victim, forMs: number): Promise<void> {
  return freeze(pidOf(stack, victim), forMs);
}

export function standStill(stack: Stack, victim: Victim): () => void {
  const pid = pidOf(stack, victim);
  process.kill(pid, 'SIGSTOP');
  return () => void process.kill(pid, 'SIGCONT');
}

export async function freeze(pid: number, forMs = FROZEN_MS): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  try {
    await delay(forMs);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

function pidOf({ product, temporal, cluster }: Stack, victim: Victim): number {
  switch (victim) {
    case 'temporal':
      return temporal.pid;
    case 'kube-apiserver':
    case 'etcd':
      return pidIn(cluster.processes(), victim);
    case 'host-worker':
      return product.pid(hosts());
    default:
      return product.pid(victim);
  }
}

function pidIn(
  processes: readonly { readonly name: ClusterProcess; readonly pid: number }[],
  name: ClusterProcess,
): number {
  const found = processes.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${name} does not run`);
  return found.pid;
}

function hosts(): string {
  return `host-worker/${POOL}`;
}
