/** `slipway rollout status POOL [--watch]`. */

import { checkMaxUnavailable, nodesOfPool } from '../../core/pool';
import type { MachineConfigPool } from '../../core/pool/types';
import { controlPlaneOf, resolvePolicy, slotsOfPool } from '../../core/rollout';
import type { ExitCode } from '../exit-codes';
import { awaitAnswer, WORKER } from '../await-answer';
import type { WatchOptions } from '../options';
import type { OutputFormat } from '../output';
import type { CliContext, ClusterView } from '../ports';
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
  const snapshot = await awaitAnswer(context, WORKER, observe(context, view, poolName));
  show(context, snapshot, options.output);
  return exitCodeOf(snapshot);
}

/** The longest-waiting first; no more fit on a screen. */
const MOST_STEPS = 20;

async function observe(
  context: CliContext,
  view: ClusterView,
  poolName: string,
): Promise<RolloutSnapshot> {
  const pool = findPool(view, poolName);
  const temporal = await context.temporal();
  const answer = await temporal.progress(poolName);
  if (answer !== undefined && 'pausedInTemporal' in answer) {
    return snapshotOf(view, pool, answer);
  }
  const busy = (answer?.children ?? [])
    .filter(({ stage }) => stage !== 'waiting')
    .sort((a, b) => Date.parse(a.since) - Date.parse(b.since));
  const steps = await temporal.steps(busy.slice(0, MOST_STEPS).map(({ node }) => node));
  return snapshotOf(view, pool, answer === undefined ? {} : { progress: answer, steps });
}

function snapshotOf(
  view: ClusterView,
  pool: MachineConfigPool,
  rollout: Pick<SnapshotInput, 'progress' | 'steps' | 'pausedInTemporal'>,
): RolloutSnapshot {
  const poolName = pool.metadata.name;
  const nodes = nodesOfPool(pool, view.nodes, view.pools);
  const policy = view.policies.find(({ metadata }) => metadata.name === poolName);
  return takeSnapshot({
    pool,
    nodes,
    machineConfigNodes: view.machineConfigNodes,
    maxUnavailable: rollout.progress?.maxUnavailable ?? slotsNow(view, pool),
    manual: resolvePolicy(policy?.spec).trigger === 'Manual',
    ...rollout,
  });
}

/** @throws `InvalidPool` */
function slotsNow({ nodes, pools }: ClusterView, pool: MachineConfigPool): number {
  checkMaxUnavailable(pool);
  const members = nodesOfPool(pool, nodes, pools);
  return slotsOfPool(pool, members, controlPlaneOf(nodes).length).maxUnavailable;
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
