/**
 * `npm run bench -- rollout`: the whole stack, simulated hosts, one config that reboots every node.
 * The figures come from an independent observer, the API server's metrics and Temporal's histories.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { startObserver } from '../tools/observer/observer';
import type { NodeChange, RolloutRecord } from '../tools/observer/record';
import { percentile } from '../tools/measure/percentile';
import { residentBytes } from '../tools/processes/identity';
import { renderedConfigOf } from '../tools/stack/readiness';
import type { Stack } from '../tools/stack/stack';
import { startStack } from '../tools/stack/stack';
import type { ApiRequests } from './api-requests';
import { countApiRequests, difference, tellSlipwayApart } from './api-requests';
import { countWorkflowTasks } from './workflow-tasks';

export interface RolloutBenchOptions {
  readonly nodes: number;
  readonly maxUnavailable: number;
  /** Simulated time from the armed reboot to the boot. */
  readonly nodeTimeSeconds: number;
  readonly canaryNodes: number;
  readonly onStep: (text: string) => void;
}

export interface RolloutBenchResult {
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly nodeTimeSeconds: number;
  readonly canaryNodes: number;
  /** First cordon to last uncordon, divided by ceil(nodes / maxUnavailable) × node time. */
  readonly makespanRatio: number;
  readonly makespanSeconds: number;
  /** A node verified (its uncordon is seen) → the next cordon is seen, in ms. */
  readonly slotRefillMs: { readonly p50: number; readonly p99: number };
  readonly applyToFirstCordonMs: number;
  readonly apiWritesPerNode: number;
  readonly apiReadsPerNode: number;
  readonly workflowTasksPerNode: number;
  /** Resident memory at the end, in MiB, by process. */
  readonly rssMiB: Readonly<Record<string, number>>;
  readonly maxUnavailableSeen: number;
  readonly violations: readonly string[];
}

const CONFIG = `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 50-worker-bench
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  kernelArguments: [nosmt]
`;

/** Starts everything, rolls once, stops everything. */
export async function runRolloutBench(options: RolloutBenchOptions): Promise<RolloutBenchResult> {
  const stack = await startStack({
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
  try {
    return await measure(stack, options);
  } finally {
    await stack.stop();
  }
}

async function measure(stack: Stack, options: RolloutBenchOptions): Promise<RolloutBenchResult> {
  const observer = await startObserver({
    kubeconfig: stack.cluster.adminKubeconfig,
    nodeSelector: 'node-role.kubernetes.io/worker',
    maxUnavailable: options.maxUnavailable,
  });
  await tellSlipwayApart(stack.manifests);
  await settled(stack);
  const before = await countApiRequests(stack.cluster);
  const old = await renderedConfigOf(stack.cluster.admin, 'worker');
  options.onStep(`rolling ${options.nodes} nodes, ${options.maxUnavailable} at a time`);
  const appliedAtMs = Date.now();
  await stack.manifests.apply(CONFIG);
  await untilAllMoved(observer.record, options, old);
  const requests = difference(await countApiRequests(stack.cluster), before);
  const rssMiB = memory(stack);
  observer.stop();
  const workflowTasks = await countWorkflowTasks(stack);
  return { ...result(observer.record, options, { appliedAtMs, requests, workflowTasks }), rssMiB };
}

/** The first boot's own requests are over when two counts in a row agree. */
async function settled(stack: Stack): Promise<void> {
  for (let last = -1; ;) {
    const { writes, reads } = await countApiRequests(stack.cluster);
    if (writes + reads === last) return;
    last = writes + reads;
    await delay(1_000);
  }
}

/** Resolves when every node has another current config and none is cordoned. */
async function untilAllMoved(
  record: RolloutRecord,
  options: RolloutBenchOptions,
  old: string,
): Promise<void> {
  const rounds = Math.ceil(options.nodes / options.maxUnavailable);
  const deadline = Date.now() + (rounds * options.nodeTimeSeconds * 6 + 300) * 1_000;
  const done = () =>
    record.nodes.filter(
      ({ annotations, unschedulable }) =>
        !unschedulable && annotations['machineconfiguration.openshift.io/currentConfig'] !== old,
    ).length;
  for (let told = 0; done() < options.nodes;) {
    if (Date.now() > deadline) throw new Error(`only ${done()} of ${options.nodes} nodes updated`);
    await delay(200);
    const quarter = Math.floor((done() * 4) / options.nodes);
    if (quarter <= told) continue;
    told = quarter;
    options.onStep(`${done()} of ${options.nodes} nodes updated`);
  }
}

interface Measured {
  readonly appliedAtMs: number;
  readonly requests: ApiRequests;
  readonly workflowTasks: number;
}

function result(
  record: RolloutRecord,
  options: RolloutBenchOptions,
  measured: Measured,
): Omit<RolloutBenchResult, 'rssMiB'> {
  const { nodes, maxUnavailable, nodeTimeSeconds, canaryNodes } = options;
  const cordons = record.changes.filter(isCordon).map(({ atMs }) => atMs);
  const uncordons = record.changes.filter(isUncordon).map(({ atMs }) => atMs);
  const first = Math.min(...cordons);
  const makespanSeconds = (Math.max(...uncordons) - first) / 1000;
  const ideal = Math.ceil(nodes / maxUnavailable) * nodeTimeSeconds;
  const refills = refillTimes(cordons, uncordons, maxUnavailable);
  const perNode = (count: number) => round(count / nodes, 1);
  return {
    nodes,
    maxUnavailable,
    nodeTimeSeconds,
    canaryNodes,
    makespanRatio: round(makespanSeconds / ideal, 2),
    makespanSeconds: round(makespanSeconds, 1),
    slotRefillMs: { p50: percentile(refills, 0.5), p99: percentile(refills, 0.99) },
    applyToFirstCordonMs: first - measured.appliedAtMs,
    apiWritesPerNode: perNode(measured.requests.writes),
    apiReadsPerNode: perNode(measured.requests.reads),
    workflowTasksPerNode: perNode(measured.workflowTasks),
    maxUnavailableSeen: record.maxUnavailableSeen,
    violations: record.violations,
  };
}

function isCordon({ node, previous }: NodeChange): boolean {
  return node.unschedulable && previous?.unschedulable === false;
}

function isUncordon({ node, previous }: NodeChange): boolean {
  return !node.unschedulable && previous?.unschedulable === true;
}

/**
 * How long each freed slot stood empty: the k-th uncordon frees the slot that cordon number
 * `slots + k` takes.
 */
export function refillTimes(
  cordons: readonly number[],
  uncordons: readonly number[],
  slots: number,
): readonly number[] {
  return cordons
    .slice(slots)
    .map((cordon, index) => Math.max(0, cordon - (uncordons[index] ?? cordon)));
}

function memory(stack: Stack): Readonly<Record<string, number>> {
  const mib = (bytes: number | undefined) => Math.round((bytes ?? 0) / 1024 / 1024);
  return Object.fromEntries([
    ...stack.cluster.processes().map(({ name, memory: bytes }) => [name, mib(bytes)] as const),
    ['temporal', mib(stack.temporal.memory())] as const,
    ...stack.product.running().map(({ name, pid }) => [name, mib(residentBytes(pid))] as const),
  ]);
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
