/**
 * `npm run bench -- two-workers`: how long a rollout stands still when one of two cluster workers is killed, and how
 * soon an update ends that is cancelled while it waits for its grant.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowFailedError, type Client } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { inParallel } from '../core/concurrency-limit';
import { poolRolloutId, updateNodeId } from '../core/names';
import type { PoolRollout } from '../core/rollout/pool-rollout';
import type { ObserverProcess } from '../test/observer/own-process';
import { describeViolation } from '../test/observer/violation';
import { percentile } from '../tools/measure/percentile';
import type { Stack } from '../tools/stack/stack';
import { temporalClient } from '../tools/temporal';
import {
  judgeOf,
  rebootingConfig,
  startSimulatedPool,
  type SimulatedPoolOptions,
} from './simulated-pool';
import { rolloutOf, whatTheRolloutSays } from './standstill';

interface TwoWorkersOptions extends SimulatedPoolOptions {
  readonly kills: number;
  readonly cancels: number;
}

interface TwoWorkersResult {
  readonly nodes: number;
  readonly maxUnavailable: number;
  /** One for each worker that was killed. */
  readonly longestWithoutStepSeconds: readonly number[];
  /** Updates that waited for a grant and were cancelled. */
  readonly cancels: number;
  readonly endedWithinTenSeconds: number;
  readonly cancelMs: { readonly p50: number; readonly most: number };
  readonly violations: readonly string[];
}

const PATIENCE_MS = 300_000;
const AT_ONCE = 5;
const WORKERS = ['cluster-worker', 'cluster-worker-2'] as const;

export async function runTwoWorkersBench(options: TwoWorkersOptions): Promise<TwoWorkersResult> {
  const stack = await startSimulatedPool(options);
  try {
    await stack.product.startSecond('cluster-worker');
    const judge = await judgeOf(stack, options.maxUnavailable);
    const client = await temporalClient(stack.temporal);
    try {
      return await measure({ stack, judge, client }, options);
    } finally {
      await client.connection.close();
      // Otherwise this process waits for the observer for ever.
      await judge.stop();
    }
  } finally {
    await stack.stop();
  }
}

interface Measuring {
  readonly stack: Stack;
  readonly judge: ObserverProcess;
  readonly client: Client;
}

async function measure(on: Measuring, options: TwoWorkersOptions): Promise<TwoWorkersResult> {
  const { nodes, maxUnavailable, kills, onStep } = options;
  const pauses: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    onStep(`killing one of two cluster workers, ${kill + 1} of ${kills}`);
    pauses.push(await withoutStep(on, options, kill));
  }
  onStep(`cancelling ${options.cancels} updates that wait for a grant`);
  const ended = await cancelWaiting(on, options);
  const { judge } = on;
  return {
    nodes,
    maxUnavailable,
    longestWithoutStepSeconds: pauses.map((ms) => Math.round(ms / 100) / 10),
    cancels: ended.length,
    endedWithinTenSeconds: ended.filter((ms) => ms <= 10_000).length,
    cancelMs: { p50: Math.round(percentile(ended, 0.5)), most: Math.round(Math.max(...ended)) },
    violations: judge.violations.map(describeViolation),
  };
}

/** @returns the longest time between two steps from the kill to the end of the rollout, in ms */
async function withoutStep(
  { stack, client }: Measuring,
  { nodes, maxUnavailable }: TwoWorkersOptions,
  kill: number,
): Promise<number> {
  const killed = WORKERS[kill % WORKERS.length] ?? WORKERS[0];
  await roll(stack, kill);
  await until(stack, ({ counts }) => counts.updated >= maxUnavailable && counts.updated < nodes);
  const killedAt = Date.now();
  await stack.product.kill(killed);
  await until(stack, ({ counts }) => counts.updated === nodes);
  const steps = (await stepsOf(client)).filter((at) => at > killedAt);
  if (killed === WORKERS[0]) await stack.product.start('cluster-worker');
  else await stack.product.startSecond('cluster-worker');
  const gaps = steps.map((at, index) => at - (steps[index - 1] ?? killedAt));
  return Math.max(...gaps);
}

/** When they ended, ms since the epoch, in order. */
async function stepsOf(client: Client): Promise<readonly number[]> {
  const ends: number[] = [];
  const query = `WorkflowId = '${poolRolloutId('worker')}'`;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const steps = new Set<string>();
    for (const event of events ?? []) {
      const scheduled = event.activityTaskScheduledEventAttributes?.activityType?.name;
      if (scheduled === 'step') steps.add(String(event.eventId));
      const ended = event.activityTaskCompletedEventAttributes?.scheduledEventId;
      if (ended != null && steps.has(String(ended))) {
        const { seconds, nanos } = event.eventTime ?? {};
        ends.push(Number(seconds ?? 0) * 1000 + (nanos ?? 0) / 1e6);
      }
    }
  }
  return ends.sort((one, other) => one - other);
}

/** Cordons of a person take all the room, so every update waits. @returns how long each took to end, in ms */
async function cancelWaiting(
  { stack, client }: Measuring,
  { nodes, maxUnavailable, kills, cancels }: TwoWorkersOptions,
): Promise<readonly number[]> {
  const all = stack.nodesOf('worker');
  await inParallel(all.slice(0, maxUnavailable), AT_ONCE, async (name) => {
    await stack.cluster.admin.call('PATCH', `/api/v1/nodes/${name}`, {
      spec: { unschedulable: true },
    });
  });
  await roll(stack, kills);
  const waiting = all.slice(maxUnavailable, maxUnavailable + Math.min(cancels, nodes));
  await until(stack, ({ counts }) => counts.waiting >= waiting.length);
  const ended: number[] = [];
  await inParallel(waiting, AT_ONCE, async (name) => {
    const update = client.workflow.getHandle(updateNodeId(name));
    const askedAt = performance.now();
    await update.cancel();
    await cancelled(update.result());
    ended.push(performance.now() - askedAt);
  });
  return ended;
}

async function cancelled(result: Promise<unknown>): Promise<void> {
  try {
    await result;
  } catch (error) {
    if (error instanceof WorkflowFailedError && error.cause instanceof CancelledFailure) return;
    throw error;
  }
  throw new Error('an update that was cancelled has completed');
}

async function roll(stack: Stack, round: number): Promise<void> {
  const before = await rolloutOf(stack.cluster);
  await stack.manifests.applyObject(rebootingConfig(`round=${round}`));
  await until(stack, ({ config }) => config !== before?.config);
}

async function until(
  stack: Stack,
  holds: (status: NonNullable<PoolRollout['status']>) => boolean,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const status = await rolloutOf(stack.cluster);
    if (status !== undefined && holds(status)) return;
    if (performance.now() > deadline) throw new Error(`stuck: ${await whatTheRolloutSays(stack)}`);
    await delay(100);
  }
}
