/** The whole stack with one pool of simulated hosts, which is what rollouts are measured on. */

import { compareDisks } from '../test/e2e/support/disk-at-rest';
import { startJudge } from '../test/e2e/support/verdict';
import type { ObserverProcess } from '../test/observer/own-process';
import type { Summary } from '../test/observer/protocol';
import { residentBytes } from '../tools/processes/identity';
import { startStack, type Stack } from '../tools/stack/stack';
import { memoryOf } from './process-memory';

export const WORKERS = 'node-role.kubernetes.io/worker';

/** For one answer of Temporal to the observer: it is never away here, but it has all that the machine can do. */
const PATIENCE_MS = 20_000;

export interface SimulatedPoolOptions {
  readonly nodes: number;
  readonly maxUnavailable: number;
  /** Simulated time from the armed reboot to the boot. */
  readonly nodeTimeSeconds: number;
  readonly canaryNodes: number;
  /** Added to that of every process of Slipway. */
  readonly environment?: Readonly<Record<string, string>>;
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
    audit: true,
    onStep: options.onStep,
    ...(options.environment === undefined ? {} : { environment: options.environment }),
  });
}

/** The observer of the end-to-end tests, which judges the pool of workers by every promise that it can see. */
export async function judgeOf(stack: Stack, maxUnavailable: number): Promise<ObserverProcess> {
  const { cluster, temporal } = stack;
  return startJudge({
    ...{ cluster, temporal, patienceMs: PATIENCE_MS },
    ...{ nodeSelector: WORKERS, pool: 'worker', maxUnavailable },
  });
}

/** What an observer has seen of the promises, and how well it could look. */
export interface Observed {
  readonly maxUnavailableSeen: number;
  /** How often it could look, by place: "none broken" is worth as much as that. */
  readonly observerLooks: Readonly<Record<string, number>>;
  /** The longest time in one piece in which it could not. */
  readonly observerBlindSeconds: Readonly<Record<string, number>>;
}

export function observed({ maxUnavailableSeen, sight }: Summary): Observed {
  const places = Object.entries(sight);
  return {
    maxUnavailableSeen,
    observerLooks: Object.fromEntries(places.map(([place, { looks }]) => [place, looks])),
    observerBlindSeconds: Object.fromEntries(
      places.map(([place, { blindSeconds }]) => [place, blindSeconds]),
    ),
  };
}

/** What was judged of the disks of the hosts (I4). */
export interface Compared {
  readonly disksCompared: number;
  /** As violations are described. */
  readonly broken: readonly string[];
}

/** Where the observer cannot look: every host of a pool at rest is byte for byte on the config that its Node names. */
export async function disksOf(stack: Stack): Promise<Compared> {
  const { compared, wrong } = await compareDisks(stack.cluster.admin, stack.hostRoot);
  const all = stack.nodesOf('worker').length;
  const missing =
    compared === all ? [] : [`only ${compared} of ${all} hosts are done, the others not compared`];
  return {
    disksCompared: compared,
    broken: [...missing, ...wrong].map((text) => `I4 ${text}`),
  };
}

/** Resident memory now, in MiB, by process. */
export function residentMiB(stack: Stack): Readonly<Record<string, number>> {
  return Object.fromEntries(
    processesOf(stack).map(({ name, pid }) => {
      return [name, Math.round((residentBytes(pid) ?? 0) / 1024 / 1024)] as const;
    }),
  );
}

/** The most since each process began; empty where the kernel does not count it. */
export function mostResidentMiB(stack: Stack): Readonly<Record<string, number>> {
  const found = processesOf(stack).map(({ name, pid }) => [name, memoryOf(pid, 'VmHWM')] as const);
  return Object.fromEntries(
    found.flatMap(([name, mib]) => (mib === undefined ? [] : [[name, Math.round(mib)] as const])),
  );
}

/** All that runs, but for whoever measures. */
export function processesOf(
  stack: Stack,
): readonly { readonly name: string; readonly pid: number }[] {
  return [
    ...stack.cluster.processes(),
    { name: 'temporal', pid: stack.temporal.pid },
    ...stack.product.running(),
  ];
}
