/** The whole stack with one pool of simulated hosts, which is what rollouts are measured on. */

import { observeInOwnProcess, type ObserverProcess } from '../tools/observer/own-process';
import { residentBytes } from '../tools/processes/identity';
import { startStack, type Stack } from '../tools/stack/stack';

export const WORKERS = 'node-role.kubernetes.io/worker';

export interface SimulatedPoolOptions {
  readonly nodes: number;
  readonly maxUnavailable: number;
  /** Simulated time from the armed reboot to the boot. */
  readonly nodeTimeSeconds: number;
  readonly canaryNodes: number;
  readonly onStep: (text: string) => void;
}

/** Nothing takes time but the reboot, so that what is measured is what Slipway adds. */
export async function startSimulatedPool(options: SimulatedPoolOptions): Promise<Stack> {
  return startStack({
    nodes: { worker: options.nodes },
    zones: 3,
    maxUnavailable: options.maxUnavailable,
    policy: {
      canary: { nodes: options.canaryNodes },
      verify: { readySeconds: 0 },
      failureThreshold: '50%',
    },
    simulation: {
      stageSeconds: 0,
      applySeconds: 0,
      rebootSeconds: options.nodeTimeSeconds,
      jitter: 0,
      failures: [],
    },
    workloads: [],
    temporalUi: false,
    onStep: options.onStep,
  });
}

/** An observer in a process of its own that judges the pool of workers by every promise it can see. */
export async function judgeOf(stack: Stack, maxUnavailable: number): Promise<ObserverProcess> {
  return observeInOwnProcess({
    kubeconfig: stack.cluster.adminKubeconfig,
    nodeSelector: WORKERS,
    pool: 'worker',
    maxUnavailable,
    temporal: { address: stack.temporal.address, namespace: stack.temporal.namespace },
  });
}

/** Resident memory now, in MiB, by process. */
export function residentMiB(stack: Stack): Readonly<Record<string, number>> {
  const mib = (bytes: number | undefined) => Math.round((bytes ?? 0) / 1024 / 1024);
  return Object.fromEntries([
    ...stack.cluster.processes().map(({ name, memory: bytes }) => [name, mib(bytes)] as const),
    ['temporal', mib(stack.temporal.memory())] as const,
    ...stack.product.running().map(({ name, pid }) => [name, mib(residentBytes(pid))] as const),
  ]);
}
