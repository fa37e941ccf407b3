/** `slipway rollout status POOL [--watch]`. */

import { messageOf } from '../../core/errors';
import { nodesOfPool } from '../../core/pool';
import { controlPlaneOf, resolvePolicy } from '../../core/rollout';
import type { OpenUpdate } from '../../core/rollout/picture';
import { EXIT, exitCodeOfError, type ExitCode } from '../exit-codes';
import { awaitAnswer, WORKER } from '../await-answer';
import type { WatchOptions } from '../options';
import type { OutputFormat } from '../output';
import type { CliContext, ClusterView } from '../ports';
import { isOutOfService } from '../node-rows';
import { exitCodeOf, type RolloutSnapshot, type SnapshotInput, takeSnapshot } from '../snapshot';
import { renderTree } from '../tree';
import { findPool, printMachineReadable } from './rollout';
import { watchRollout } from './rollout-watch';

/** Once, or until the rollout ends, halts or times out. Ctrl-C only detaches. */
export async function rolloutStatus(
  context: CliContext,
  poolName: string,
  options: WatchOptions,
): Promise<ExitCode> {
  if (options.watch) {
    return watchRollout(context, poolName, options, (view) => observe(context, view, poolName));
  }
  const view = await (await context.cluster()).read();
  try {
    const snapshot = await awaitAnswer(context, WORKER, observe(context, view, poolName));
    show(context, snapshot, options.output);
    return exitCodeOf(snapshot);
  } catch (error) {
    if (exitCodeOfError(error) !== EXIT.UNREACHABLE) throw error;
    show(context, withoutTemporal(context, seenIn(view, poolName), error), options.output);
    return EXIT.UNREACHABLE;
  }
}

/** What the cluster shows, and that Temporal does not answer. */
function withoutTemporal(context: CliContext, seen: Seen, error: unknown): RolloutSnapshot {
  const rollout = { runId: '', blocker: messageOf(error) };
  return takeSnapshot({ ...seen, rollout, updates: [], nowMs: context.now() });
}

type Seen = ReturnType<typeof seenIn>;

async function observe(
  context: CliContext,
  view: ClusterView,
  poolName: string,
): Promise<RolloutSnapshot> {
  const temporal = await context.temporal();
  const rollout = await temporal.openRollout(poolName);
  const updates = await temporal.openUpdates(poolName);
  const input: SnapshotInput = {
    ...seenIn(view, poolName),
    ...(rollout === undefined ? {} : { rollout }),
    updates,
    nowMs: context.now(),
  };
  const busy = longestAtWork(takeSnapshot(input), updates).slice(0, MOST_STEPS);
  return takeSnapshot({ ...input, steps: await temporal.steps(busy) });
}

/** No more fit on a screen. */
const MOST_STEPS = 20;

/** Who is out of service first, and of the others those whose update began first. */
function longestAtWork(
  { rows }: RolloutSnapshot,
  newestFirst: readonly OpenUpdate[],
): readonly string[] {
  const outOfService = rows
    .filter(({ group }) => isOutOfService(group))
    .sort((a, b) => Date.parse(a.since ?? '') - Date.parse(b.since ?? ''));
  const preparing = new Set(rows.filter(({ group }) => group === 'Preparing').map(nodeOf));
  const oldestFirst = newestFirst.map(nodeOf).reverse();
  return [...outOfService.map(nodeOf), ...oldestFirst.filter((node) => preparing.has(node))];
}

function nodeOf({ node }: { readonly node: string }): string {
  return node;
}

function seenIn(view: ClusterView, poolName: string) {
  const { nodes, pools, policies, machineConfigNodes, poolRollouts } = view;
  const pool = findPool(view, poolName);
  const written = poolRollouts.get(poolName)?.status;
  const policy = policies.find(({ metadata }) => metadata.name === poolName);
  return {
    ...{ pool, machineConfigNodes },
    policy: resolvePolicy(policy?.spec),
    nodes: nodesOfPool(pool, nodes, pools),
    controlPlane: controlPlaneOf(nodes),
    ...(written === undefined ? {} : { written }),
  };
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
