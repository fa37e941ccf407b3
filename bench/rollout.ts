/**
 * `npm run bench -- rollout`: the whole stack with simulated hosts, and one config that reboots
 * every node. Figures come from an independent observer, the API server's metrics and Temporal's
 * histories.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../core/errors';
import { type Observer, startObserver } from '../test/observer/observer';
import type { NodeChange } from '../test/observer/observed';
import type { ObserverProcess } from '../test/observer/own-process';
import type { Summary } from '../test/observer/protocol';
import type { RolloutRecord } from '../test/observer/record';
import { describeViolation } from '../test/observer/violation';
import { percentile } from '../tools/measure/percentile';
import { renderedConfigOf } from '../tools/stack/readiness';
import type { Stack } from '../tools/stack/stack';
import { isOnPostgres } from '../tools/temporal-postgres';
import type { ApiRequests } from './api-requests';
import { countApiRequests, difference, tellSlipwayApart } from './api-requests';
import { countHistories, type HistoryCounts } from './histories';
import type { StepTimes } from './step-times';
import { watchLeases, type LeaseAge, type LeaseWatch } from './lease-age';
import { processorMs } from './processor-time';
import {
  disksOf,
  judgeOf,
  mostResidentMiB,
  observed,
  processesOf,
  rebootingConfig,
  residentMiB,
  startSimulatedPool,
  WORKERS,
  type Observed,
  type SimulatedPoolOptions,
  type TemporalKind,
} from './simulated-pool';
import { Standstill, whatTheRolloutSays } from './standstill';

interface RolloutBenchResult extends Observed {
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly nodeTimeSeconds: number;
  readonly canaryNodes: number;
  readonly temporal: TemporalKind;
  readonly encoded: boolean;
  /** First cordon to last uncordon, divided by ceil(nodes / maxUnavailable) × node time. */
  readonly makespanRatio: number;
  readonly makespanSeconds: number;
  /** From an observed uncordon to the next cordon, in ms; absent = no node took the place of another. */
  readonly refillMs?: { readonly p50: number; readonly p99: number };
  /** Longest time without a cordon while one more node could be out and one waited. */
  readonly standstillSeconds: number;
  /** Shows how busy the machine was. */
  readonly leaseAge: LeaseAge;
  readonly applyToFirstCordonMs: number;
  readonly apiWritesPerNode: number;
  readonly apiReadsPerNode: number;
  readonly workflowTasksPerNode: number;
  /** Refused results, and tasks not started or completed in time, over all workflows. */
  readonly failedTasks: number;
  readonly lateTasks: number;
  /** Without local activities. */
  readonly activitiesPerNode: number;
  readonly localActivitiesPerNode: number;
  readonly signalsPerNode: number;
  readonly historyEventsPerNode: number;
  /** During the rollout; absent where it cannot be read. */
  readonly temporalCpuMsPerNode?: number;
  readonly cpuMsPerNode: Readonly<Record<string, number>>;
  readonly rssMiB: Readonly<Record<string, number>>;
  /** Start-up included; empty where the kernel does not count it. */
  readonly mostRssMiB: Readonly<Record<string, number>>;
  /** Of the updates, the first boot's too. */
  readonly steps: readonly StepTimes[];
  readonly disksCompared: number;
  /** Of the promises in docs/reliability.md, from an observer and from the comparison of disks. */
  readonly violations: readonly string[];
}

export async function runRolloutBench(options: SimulatedPoolOptions): Promise<RolloutBenchResult> {
  const stack = await startSimulatedPool(options);
  try {
    return await measure(stack, options);
  } finally {
    await stack.stop();
  }
}

async function measure(stack: Stack, options: SimulatedPoolOptions): Promise<RolloutBenchResult> {
  const judge = await judgeOf(stack, options.maxUnavailable);
  try {
    const observer = await startObserver({
      kubeconfig: stack.cluster.adminKubeconfig,
      nodeSelector: WORKERS,
      maxUnavailable: options.maxUnavailable,
    });
    try {
      return await rollOnce(stack, options, { observer, judge });
    } finally {
      observer.stop();
    }
  } finally {
    // Otherwise this process waits for the observer for ever.
    await judge.stop();
  }
}

interface Watching {
  readonly observer: Observer;
  readonly judge: ObserverProcess;
}

async function rollOnce(
  stack: Stack,
  options: SimulatedPoolOptions,
  { observer, judge }: Watching,
): Promise<RolloutBenchResult> {
  await tellSlipwayApart(stack.manifests);
  await settled(stack);
  const before = await countApiRequests(stack.cluster);
  const old = await renderedConfigOf(stack.cluster.admin, 'worker');
  const cpuBefore = processorTimes(stack);
  options.onStep(`rolling ${options.nodes} nodes, ${options.maxUnavailable} at a time`);
  const appliedAtMs = Date.now();
  await stack.manifests.applyObject(rebootingConfig());
  const standstill = new Standstill();
  const leases = watchLeases(stack.cluster.admin);
  const rolling = { record: observer.record, stack, judge, standstill, leases };
  await untilAllMoved(rolling, options, old).finally(() => leases.stop());
  const requests = difference(await countApiRequests(stack.cluster), before);
  const cpuMsPerNode = perNodeSince(cpuBefore, processorTimes(stack), options.nodes);
  const rssMiB = residentMiB(stack);
  const mostRssMiB = mostResidentMiB(stack);
  observer.stop();
  const { counts: histories, steps } = await countHistories(stack);
  const seen = await judge.rest();
  const { disksCompared, broken } = await disksOf(stack);
  return {
    ...result(observer.record, options, { appliedAtMs, requests, histories, cpuMsPerNode, seen }),
    standstillSeconds: round(standstill.longestMs / 1000, 1),
    leaseAge: leases.soFar(),
    rssMiB,
    mostRssMiB,
    steps,
    disksCompared,
    violations: [...judge.violations.map(describeViolation), ...broken],
  };
}

/** The first boot sends no more requests when two counts in a row agree. */
async function settled(stack: Stack): Promise<void> {
  for (let last = -1; ;) {
    const { writes, reads } = await countApiRequests(stack.cluster);
    if (writes + reads === last) return;
    last = writes + reads;
    await delay(1_000);
  }
}

/** Longer than any node takes on a busy machine. */
const STUCK_MS = 300_000;

interface Rolling {
  readonly record: RolloutRecord;
  readonly stack: Stack;
  readonly judge: ObserverProcess;
  readonly standstill: Standstill;
  readonly leases: LeaseWatch;
}

async function untilAllMoved(
  { record, stack, judge, standstill, leases }: Rolling,
  options: SimulatedPoolOptions,
  old: string,
): Promise<void> {
  const countDone = () =>
    record.nodes.filter(
      ({ annotations, unschedulable }) =>
        !unschedulable && annotations['machineconfiguration.openshift.io/currentConfig'] !== old,
    ).length;
  const patienceMs = options.nodeTimeSeconds * 1_000 + STUCK_MS;
  let progress = { done: countDone(), atMs: Date.now() };
  for (let told = 0; progress.done < options.nodes;) {
    await delay(200);
    const done = countDone();
    if (done !== progress.done) progress = { done, atMs: Date.now() };
    if (isToBeTold(standstill, record, options, done)) tellStandstill(stack, options);
    if (Date.now() - progress.atMs > patienceMs) {
      const broken = judge.violations.map(describeViolation);
      const late = `the oldest Lease of a kubelet was ${leases.soFar().oldestSeconds} s old`;
      const why = [await whatTheRolloutSays(stack), late, ...broken].join('; ');
      throw new Error(`stuck: only ${done} of ${options.nodes} nodes updated; ${why}`);
    }
    const quarter = Math.floor((done * 4) / options.nodes);
    if (quarter <= told) continue;
    told = quarter;
    options.onStep(`${done} of ${options.nodes} nodes updated`);
  }
}

function isToBeTold(
  standstill: Standstill,
  { nodes, changes }: RolloutRecord,
  { maxUnavailable, canaryNodes }: SimulatedPoolOptions,
  done: number,
): boolean {
  const cordoned = nodes.filter(({ unschedulable }) => unschedulable).length;
  const most = done < canaryNodes ? Math.min(canaryNodes, maxUnavailable) : maxUnavailable;
  const hasRoom = cordoned < most && done + cordoned < nodes.length;
  return standstill.look(Date.now(), changes.findLast(isCordon)?.atMs ?? 0, hasRoom);
}

/** Must not delay the measurement. */
function tellStandstill(stack: Stack, { onStep }: SimulatedPoolOptions): void {
  const at = new Date().toISOString();
  whatTheRolloutSays(stack).then(
    (said) => onStep(`${at} more nodes may be out, and none is cordoned: ${said}`),
    (error: unknown) =>
      onStep(`${at} more nodes may be out, for an unknown reason: ${messageOf(error)}`),
  );
}

/** Figures that histories and requests do not give. */
type Seen =
  | 'standstillSeconds'
  | 'leaseAge'
  | 'rssMiB'
  | 'mostRssMiB'
  | 'steps'
  | 'disksCompared'
  | 'violations';

interface Measured {
  readonly appliedAtMs: number;
  readonly requests: ApiRequests;
  readonly histories: HistoryCounts;
  readonly cpuMsPerNode: Readonly<Record<string, number>>;
  readonly seen: Summary;
}

function result(
  record: RolloutRecord,
  options: SimulatedPoolOptions,
  measured: Measured,
): Omit<RolloutBenchResult, Seen> {
  const { nodes, maxUnavailable, nodeTimeSeconds, canaryNodes } = options;
  const { histories } = measured;
  const { temporal, ...cpuMsPerNode } = measured.cpuMsPerNode;
  const cordons = record.changes.filter(isCordon).map(({ atMs }) => atMs);
  const uncordons = record.changes.filter(isUncordon).map(({ atMs }) => atMs);
  const first = Math.min(...cordons);
  const makespanSeconds = (Math.max(...uncordons) - first) / 1000;
  const ideal = Math.ceil(nodes / maxUnavailable) * nodeTimeSeconds;
  const perNode = (count: number) => round(count / nodes, 1);
  return {
    nodes,
    maxUnavailable,
    nodeTimeSeconds,
    canaryNodes,
    temporal: options.temporal,
    encoded: options.encodesPayloads,
    makespanRatio: round(makespanSeconds / ideal, 2),
    makespanSeconds: round(makespanSeconds, 1),
    ...refillFigures(refillTimes(cordons, uncordons)),
    applyToFirstCordonMs: first - measured.appliedAtMs,
    apiWritesPerNode: perNode(measured.requests.writes),
    apiReadsPerNode: perNode(measured.requests.reads),
    workflowTasksPerNode: perNode(histories.workflowTasks),
    failedTasks: histories.failedTasks,
    lateTasks: histories.lateTasks,
    activitiesPerNode: perNode(histories.activities),
    localActivitiesPerNode: perNode(histories.localActivities),
    signalsPerNode: perNode(histories.signals),
    historyEventsPerNode: perNode(histories.events),
    ...(temporal === undefined ? {} : { temporalCpuMsPerNode: temporal }),
    cpuMsPerNode,
    ...observed(measured.seen),
  };
}

function isCordon({ node, previous }: NodeChange): boolean {
  return node.unschedulable && previous?.unschedulable === false;
}

function isUncordon({ node, previous }: NodeChange): boolean {
  return !node.unschedulable && previous?.unschedulable === true;
}

/**
 * How long each place that a node left stood empty. A cordon takes the place that has been empty for longest, or
 * one that nobody has had; a place that no node needs is not counted.
 *
 * @param cordons - times in ms, ascending; so are `uncordons`
 */
export function refillTimes(
  cordons: readonly number[],
  uncordons: readonly number[],
): readonly number[] {
  const refills: number[] = [];
  let taken = 0;
  for (const cordon of cordons) {
    const freed = uncordons[taken];
    if (freed === undefined || freed > cordon) continue;
    taken += 1;
    refills.push(cordon - freed);
  }
  return refills;
}

/** The percentile of an empty list is 0, which would mean an instant refill. */
export function refillFigures(refills: readonly number[]): Pick<RolloutBenchResult, 'refillMs'> {
  if (refills.length === 0) return {};
  return { refillMs: { p50: percentile(refills, 0.5), p99: percentile(refills, 0.99) } };
}

/** In ms, by process. */
function processorTimes(stack: Stack): ReadonlyMap<string, number> {
  const found = processesOf(stack).map(({ name, pid }) => [name, processorMs(pid)] as const);
  return new Map([
    ...found.filter((one): one is [string, number] => one[1] !== undefined),
    ...postgresTime(stack),
  ]);
}

/** Of all its processes; without those that have ended. */
function postgresTime({ temporal }: Stack): readonly (readonly [string, number])[] {
  if (!isOnPostgres(temporal)) return [];
  const times = temporal.postgres.processes().map((pid) => processorMs(pid) ?? 0);
  return [['postgres', times.reduce((sum, ms) => sum + ms, 0)]];
}

function perNodeSince(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  nodes: number,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...after].map(([name, ms]) => [name, Math.round((ms - (before.get(name) ?? 0)) / nodes)]),
  );
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
