/** `slipway rollout status POOL [--watch]`: the live tree. */

import { nodesOfPool, slotCount } from '../../core/pool';
import { resolvePolicy } from '../../core/rollout';
import type { RolloutProgress } from '../../workflows/messages';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import { openLiveView } from '../live-view';
import type { OutputFormat } from '../output';
import type { CliContext, CliTemporal, ClusterView } from '../ports';
import type { RolloutSnapshot } from '../snapshot';
import { takeSnapshot } from '../snapshot';
import { renderTree } from '../tree';
import { findPool, printMachineReadable } from './rollout';

export interface RolloutStatusOptions {
  readonly watch: boolean;
  readonly output: OutputFormat;
  /** Absent = for ever. */
  readonly timeoutSeconds?: number;
}

/** Shows a rollout once, or until it ends, halts or times out. Ctrl-C only detaches. */
export async function rolloutStatus(
  context: CliContext,
  poolName: string,
  options: RolloutStatusOptions,
): Promise<ExitCode> {
  const cluster = await context.cluster();
  const temporal = await context.temporal();
  const view = await cluster.read();
  const first = await observe(view, poolName, temporal);
  if (!options.watch) {
    show(context, first, options.output);
    return exitCodeOf(first);
  }
  return watch(context, poolName, options, first);
}

async function observe(
  view: ClusterView,
  poolName: string,
  temporal: CliTemporal,
): Promise<RolloutSnapshot> {
  const pool = findPool(view, poolName);
  const progress = await temporal.progress(poolName);
  return snapshotOf(view, pool.metadata.name, progress);
}

function snapshotOf(
  view: ClusterView,
  poolName: string,
  progress: RolloutProgress | undefined,
): RolloutSnapshot {
  const pool = findPool(view, poolName);
  const nodes = nodesOfPool(pool, view.nodes, view.pools);
  const policy = view.policies.find(({ metadata }) => metadata.name === poolName);
  return takeSnapshot({
    pool,
    nodes,
    machineConfigNodes: view.machineConfigNodes,
    maxUnavailable: progress?.maxUnavailable ?? slotCount(pool, nodes.length),
    manual: resolvePolicy(policy?.spec).trigger === 'Manual',
    ...(progress === undefined ? {} : { progress }),
  });
}

function show(context: CliContext, snapshot: RolloutSnapshot, output: OutputFormat): void {
  if (printMachineReadable(context, output, snapshot)) return;
  const { terminal } = context;
  const lines = renderTree(snapshot, {
    style: terminal.style,
    width: terminal.out.isTTY === true ? (terminal.out.columns ?? 120) : 0,
    nowMs: context.now(),
  });
  terminal.out.write(`${lines.join('\n')}\n`);
}

/** A rollout also ends, halts or is paused without a change in the cluster: it is asked this often. */
const ASK_AGAIN_MS = 2_000;

/** Redraws at each change of the cluster, and once a second for the clocks (no request then). */
async function watch(
  context: CliContext,
  poolName: string,
  options: RolloutStatusOptions,
  first: RolloutSnapshot,
): Promise<ExitCode> {
  const cluster = await context.cluster();
  const temporal = await context.temporal();
  const live = openLiveView(context, options.output);
  const stop = new AbortController();
  const { signal } = stop;
  const detach = () => stop.abort('detached');
  context.signal.addEventListener('abort', detach, { once: true });
  const timer =
    options.timeoutSeconds === undefined
      ? undefined
      : setTimeout(() => stop.abort('timeout'), options.timeoutSeconds * 1000);

  let latest = first;
  live.show(latest);
  const changed = latestOnly(async (view: ClusterView) => {
    latest = await observe(view, poolName, temporal);
    if (signal.aborted) return;
    live.show(latest);
    if (isSettled(latest)) stop.abort('settled');
  });
  let seen: ClusterView | undefined;
  const asking = setInterval(() => {
    if (seen !== undefined) changed.offer(seen);
  }, ASK_AGAIN_MS);
  const offer = (view: ClusterView) => {
    seen = view;
    changed.offer(view);
  };
  try {
    if (isSettled(first)) stop.abort('settled');
    else await cluster.follow(offer, signal);
    await changed.idle();
  } finally {
    clearInterval(asking);
    if (timer !== undefined) clearTimeout(timer);
    context.signal.removeEventListener('abort', detach);
    live.close();
  }
  if (signal.reason === 'detached') {
    context.terminal.err.write(`detached; the rollout of pool ${poolName} goes on\n`);
    return EXIT.OK;
  }
  if (signal.reason === 'timeout') return timedOut(latest, options.timeoutSeconds ?? 0);
  return exitCodeOf(latest);
}

function timedOut(latest: RolloutSnapshot, seconds: number): never {
  const code = latest.state === 'Paused' ? EXIT.PAUSED : EXIT.TIMED_OUT;
  const why = latest.blocker === undefined ? '' : `; ${latest.blocker}`;
  throw cliError(
    code,
    `pool ${latest.pool} is ${latest.state} after ${seconds} s: ${latest.updated} of ${latest.machineCount} nodes updated${why}`,
  );
}

/** Nothing will change any more without a person. */
function isSettled(snapshot: RolloutSnapshot): boolean {
  if (snapshot.state === 'Completed' || snapshot.state === 'Updated') return true;
  return exitCodeOf(snapshot) === EXIT.FAILED;
}

/** The state of a rollout as an exit code. */
export function exitCodeOf(snapshot: RolloutSnapshot): ExitCode {
  if (snapshot.state === 'Paused') return EXIT.PAUSED;
  if (snapshot.state === 'Halted' || snapshot.state === 'Degraded') return EXIT.FAILED;
  const failed = snapshot.rows.some((row) => row.group === 'Failed');
  const moving = snapshot.rows.some(
    (row) => !['Failed', 'Held', 'Blocked', 'Updated'].includes(row.group),
  );
  return failed && !moving ? EXIT.FAILED : EXIT.OK;
}

/** Runs `work` on the newest offer only: those that come while it runs are folded into one. */
function latestOnly<T>(work: (value: T) => Promise<void>): {
  readonly offer: (value: T) => void;
  readonly idle: () => Promise<void>;
} {
  let next: { readonly value: T } | undefined;
  let running: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  const drain = async () => {
    while (next !== undefined && failure === undefined) {
      const { value } = next;
      next = undefined;
      await work(value).catch((error: unknown) => {
        failure = { error };
      });
    }
    running = undefined;
  };
  return {
    offer: (value) => {
      next = { value };
      running ??= drain();
    },
    idle: async () => {
      await running;
      if (failure !== undefined) throw failure.error;
    },
  };
}
