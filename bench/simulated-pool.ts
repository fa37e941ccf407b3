/** The whole stack with one pool of simulated hosts, on which rollouts are measured. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { compareDisks } from '../test/e2e/support/disk-at-rest';
import { startJudge } from '../test/e2e/support/verdict';
import type { ObserverProcess } from '../test/observer/own-process';
import type { Summary } from '../test/observer/protocol';
import { residentBytes } from '../tools/processes/identity';
import { startStack, type Stack } from '../tools/stack/stack';
import { memoryOf } from './process-memory';

export const WORKERS = 'node-role.kubernetes.io/worker';

/** For Temporal's answer to the observer: the benchmark may use the whole machine. */
const PATIENCE_MS = 20_000;

/** The development server without a database, or the server for production on PostgreSQL. */
export const TEMPORAL_KINDS = ['memory', 'postgres'] as const;
export type TemporalKind = (typeof TEMPORAL_KINDS)[number];

export interface SimulatedPoolOptions {
  readonly nodes: number;
  readonly maxUnavailable: number;
  /** From the armed reboot to the boot. */
  readonly nodeTimeSeconds: number;
  readonly canaryNodes: number;
  /** Updates that are prepared ahead of their grants; absent = the default of the policy. */
  readonly prepareAhead?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly temporal: TemporalKind;
  /** As in production: hosts reach Temporal through the gateway. */
  readonly encodesPayloads: boolean;
  readonly onStep: (text: string) => void;
}

/** Only the reboot takes simulated time: the rest is Slipway's. */
export async function startSimulatedPool(options: SimulatedPoolOptions): Promise<Stack> {
  return startStack({
    nodes: { worker: options.nodes },
    zones: 3,
    maxUnavailable: options.maxUnavailable,
    policy: {
      canary: { nodes: options.canaryNodes },
      ...(options.prepareAhead === undefined ? {} : { prepareAhead: options.prepareAhead }),
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
    temporalDatabase: options.temporal === 'postgres' && 'postgres',
    encodesPayloads: options.encodesPayloads,
    audit: true,
    onStep: options.onStep,
    ...(options.environment === undefined ? {} : { environment: options.environment }),
  });
}

/** A MachineConfig of the worker pool that reboots every node; each argument makes another one. */
export function rebootingConfig(kernelArgument = 'nosmt'): KubernetesObject {
  const config = {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: {
      name: '50-worker-bench',
      labels: { 'machineconfiguration.openshift.io/role': 'worker' },
    },
    spec: { kernelArguments: [kernelArgument] },
  };
  return config;
}

/** Judges the worker pool by every promise that an observer can see. */
export async function judgeOf(stack: Stack, maxUnavailable: number): Promise<ObserverProcess> {
  const { cluster, temporal } = stack;
  return startJudge({
    ...{ cluster, temporal, patienceMs: PATIENCE_MS },
    ...{ nodeSelector: WORKERS, pool: 'worker', maxUnavailable },
  });
}

/** Violations that an observer found, and how well it could observe. */
export interface Observed {
  readonly maxUnavailableSeen: number;
  /** Without checks, "no violations" means nothing. */
  readonly observerLooks: Readonly<Record<string, number>>;
  /** Longest time without a successful check. */
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

interface Compared {
  readonly disksCompared: number;
  readonly broken: readonly string[];
}

/** At rest, every host must match the config that its Node names, byte for byte. */
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

export function residentMiB(stack: Stack): Readonly<Record<string, number>> {
  return Object.fromEntries(
    processesOf(stack).map(({ name, pid }) => {
      return [name, Math.round((residentBytes(pid) ?? 0) / 1024 / 1024)] as const;
    }),
  );
}

/** Empty where the kernel does not count it. */
export function mostResidentMiB(stack: Stack): Readonly<Record<string, number>> {
  const found = processesOf(stack).map(({ name, pid }) => [name, memoryOf(pid, 'VmHWM')] as const);
  return Object.fromEntries(
    found.flatMap(([name, mib]) => (mib === undefined ? [] : [[name, Math.round(mib)] as const])),
  );
}

export function processesOf(
  stack: Stack,
): readonly { readonly name: string; readonly pid: number }[] {
  return [
    ...stack.cluster.processes(),
    { name: 'temporal', pid: stack.temporal.pid },
    ...stack.product.running(),
  ];
}
