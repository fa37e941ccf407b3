/**
 * `rollout status` at one instant, from the cluster's objects and the rollout's `progress`. Pure.
 */

import { ANNOTATION, NodeCondition, PoolCondition } from '../core/names';
import type { Condition } from '../core/object-meta';
import { NodePhase } from '../core/node/lifecycle';
import { isSimulated } from '../core/node/predicates';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool } from '../core/pool/types';
import { placeNode } from '../core/rollout';
import type { RolloutProgress } from '../workflows/messages';
import { EXIT, type ExitCode } from './exit-codes';
import { type RunningStep, stepText } from './running-step';

export type NodeGroup =
  | 'Failed'
  | 'Blocked'
  | 'Held'
  | 'GoingBack'
  | 'Preparing'
  | 'WaitingForSlot'
  | 'Cordoning'
  | 'Draining'
  | 'Applying'
  | 'Rebooting'
  | 'Verifying'
  | 'Completing'
  | 'Pending'
  | 'Updated';

export interface NodeRow {
  readonly node: string;
  readonly group: NodeGroup;
  /** RFC 3339. */
  readonly since?: string;
  /** Its step or its blocker. */
  readonly detail?: string;
}

export interface RolloutSnapshot {
  readonly pool: string;
  readonly config?: string;
  /** Or the headline condition of the pool when no rollout runs. */
  readonly state: string;
  readonly blocker?: string;
  readonly machineCount: number;
  readonly simulatedCount: number;
  readonly updated: number;
  readonly maxUnavailable: number;
  readonly slotsHeld: number;
  readonly startedAt?: string;
  readonly remainingSeconds?: number;
  readonly rows: readonly NodeRow[];
}

export interface SnapshotInput {
  readonly pool: MachineConfigPool;
  readonly nodes: readonly Node[];
  readonly machineConfigNodes: ReadonlyMap<string, MachineConfigNode>;
  readonly maxUnavailable: number;
  readonly manual?: boolean;
  /** Absent = no rollout runs, or it is paused in Temporal and does not answer. */
  readonly progress?: RolloutProgress;
  /** A sentence that names the person who paused it, and the command to resume. */
  readonly pausedInTemporal?: string;
  /** As far as they were queried. */
  readonly steps?: ReadonlyMap<string, RunningStep>;
}

export function takeSnapshot(input: SnapshotInput): RolloutSnapshot {
  const { pool, progress } = input;
  const config = pool.spec.configuration?.name;
  const rows = input.nodes.map((node) => nodeRow(node, input));
  return {
    pool: pool.metadata.name,
    ...(config === undefined ? {} : { config }),
    state:
      progress?.state ?? (input.pausedInTemporal === undefined ? headline(pool, rows) : 'Paused'),
    ...blockerOf(input, rows),
    machineCount: input.nodes.length,
    simulatedCount: input.nodes.filter(isSimulated).length,
    updated: rows.filter((row) => row.group === 'Updated').length,
    maxUnavailable: input.maxUnavailable,
    slotsHeld: progress?.slots.length ?? 0,
    ...(progress === undefined ? {} : { startedAt: progress.startedAt }),
    ...(progress?.remainingSeconds === undefined
      ? {}
      : { remainingSeconds: progress.remainingSeconds }),
    rows,
  };
}

/** Updated only when the nodes agree. */
function headline(pool: MachineConfigPool, rows: readonly NodeRow[]): string {
  if (isTrue(pool, PoolCondition.DEGRADED)) return 'Degraded';
  if (pool.spec.paused === true) return 'Paused';
  if (rows.every((row) => row.group === 'Updated')) return 'Updated';
  return 'Waiting';
}

function blockerOf(input: SnapshotInput, rows: readonly NodeRow[]): { readonly blocker?: string } {
  const { pool, progress, pausedInTemporal } = input;
  const degraded = pool.status?.conditions?.find(
    (condition) => condition.type === PoolCondition.RENDER_DEGRADED && condition.status === 'True',
  );
  const waiting = rows.some((row) => row.group === 'Pending');
  const blocker =
    degraded?.message ??
    pausedInTemporal ??
    (progress === undefined && waiting ? whyNoRollout(input) : progress?.blocker);
  return blocker === undefined || blocker === '' ? {} : { blocker };
}

/** A person decided so, or the controllers have yet to start one. */
function whyNoRollout({ pool, manual }: SnapshotInput): string {
  const start = `start it: slipway rollout start ${pool.metadata.name}`;
  const cancelled = pool.metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED];
  if (cancelled !== undefined && cancelled === pool.spec.configuration?.name) {
    return `the rollout of this config was cancelled; ${start}`;
  }
  if (pool.spec.paused === true) {
    return `the pool is paused; resume it: slipway rollout resume ${pool.metadata.name}`;
  }
  const started = pool.metadata.annotations?.[ANNOTATION.ROLLOUT_STARTED];
  return manual === true && started !== pool.spec.configuration?.name
    ? `the policy of this pool says Manual; ${start}`
    : 'no rollout runs yet; the controllers start one when they see the config';
}

function isTrue(pool: MachineConfigPool, type: string): boolean {
  return pool.status?.conditions?.some((c) => c.type === type && c.status === 'True') === true;
}

function nodeRow(node: Node, input: SnapshotInput): NodeRow {
  const name = node.metadata.name;
  const target = input.pool.spec.configuration?.name;
  const child = input.progress?.children.find((candidate) => candidate.node === name);
  if (child !== undefined) {
    return childRow(name, child, input.machineConfigNodes.get(name), input.steps?.get(name));
  }
  if (target === undefined) return { node: name, group: 'Pending' };
  const place = placeNode(node, target, false);
  switch (place.in) {
    case 'updated':
      return { node: name, group: 'Updated' };
    case 'candidates':
      return { node: name, group: 'Pending' };
    case 'failed':
      return { node: name, group: 'Failed', detail: place.reason };
    case 'held':
      return { node: name, group: 'Held', detail: place.reason };
    case 'blocked':
      return { node: name, group: 'Blocked', detail: place.reason };
  }
}

function childRow(
  node: string,
  child: RolloutProgress['children'][number],
  machineConfigNode: MachineConfigNode | undefined,
  step: RunningStep | undefined,
): NodeRow {
  const news = step === undefined ? '' : stepText(step);
  if (child.stage === 'preparing') {
    const said = [child.blocker ?? '', news].filter((text) => text !== '').join('; ');
    const says = said === '' ? {} : { detail: said };
    return { node, group: 'Preparing', since: child.since, ...says };
  }
  if (child.stage === 'waiting') {
    const why = child.blocker === undefined ? {} : { detail: child.blocker };
    return { node, group: 'WaitingForSlot', since: child.since, ...why };
  }
  const running = runningCondition(machineConfigNode);
  const since = running?.condition.lastTransitionTime ?? child.since;
  const cancelling = child.cancelling === undefined ? '' : `cancelling: ${child.cancelling.reason}`;
  // The line of the node names this config already.
  const message = (running?.condition.message ?? '').replace(`${child.config}: `, '');
  // The step adds something only after a failed attempt, or when no worker has it.
  const isNews = step !== undefined && (step.attempt > 1 || step.blocker !== undefined);
  const again = isNews ? news : '';
  const detail = [message, again, cancelling].filter((text) => text !== '').join('; ');
  return {
    node,
    group: running?.group ?? groupBetweenSteps(child.config, machineConfigNode),
    since,
    ...(detail === '' ? {} : { detail }),
  };
}

/** The slot was just granted, or the report of the last step is on its way. */
function groupBetweenSteps(
  config: string,
  machineConfigNode: MachineConfigNode | undefined,
): NodeGroup {
  return machineConfigNode?.status?.configVersion?.current === config ? 'Completing' : 'Cordoning';
}

interface Step {
  readonly type: NodeCondition;
  /** Absent = any reason. */
  readonly reason?: string;
  readonly group: NodeGroup;
}

/** The latest step first; a rollback runs only the stage. */
const STEPS: readonly Step[] = [
  { type: NodeCondition.UPDATE_EXECUTED, reason: NodePhase.GOING_BACK, group: 'GoingBack' },
  { type: NodeCondition.UNCORDONED, group: 'Completing' },
  { type: NodeCondition.RESUMED, group: 'Completing' },
  { type: NodeCondition.UPDATE_COMPLETE, group: 'Verifying' },
  { type: NodeCondition.REBOOTED_NODE, group: 'Rebooting' },
  { type: NodeCondition.UPDATE_POST_ACTION_COMPLETE, group: 'Rebooting' },
  { type: NodeCondition.APPLIED_OS_IMAGE, group: 'Applying' },
  { type: NodeCondition.APPLIED_FILES, group: 'Applying' },
  { type: NodeCondition.APPLIED_FILES_AND_OS, group: 'Applying' },
  { type: NodeCondition.DRAINED, group: 'Draining' },
  { type: NodeCondition.CORDONED, group: 'Cordoning' },
];

/** The step in progress has status Unknown (mco-behaviour: pkg/upgrademonitor). */
function runningCondition(
  machineConfigNode: MachineConfigNode | undefined,
): { readonly condition: Condition; readonly group: NodeGroup } | undefined {
  for (const { type, reason, group } of STEPS) {
    const condition = machineConfigNode?.status?.conditions?.find(
      (candidate) =>
        candidate.type === type &&
        candidate.status === 'Unknown' &&
        (reason === undefined || candidate.reason === reason),
    );
    if (condition !== undefined) return { condition, group };
  }
  return undefined;
}

/** Nothing changes without a person. */
export function isSettled(snapshot: RolloutSnapshot): boolean {
  if (snapshot.state === 'Completed' || snapshot.state === 'Updated') return true;
  return exitCodeOf(snapshot) === EXIT.FAILED;
}

export function exitCodeOf(snapshot: RolloutSnapshot): ExitCode {
  if (snapshot.state === 'Paused') return EXIT.PAUSED;
  if (snapshot.state === 'Halted' || snapshot.state === 'Degraded') return EXIT.FAILED;
  const failed = snapshot.rows.some((row) => row.group === 'Failed');
  const moving = snapshot.rows.some(
    (row) => !['Failed', 'Held', 'Blocked', 'Updated'].includes(row.group),
  );
  return failed && !moving ? EXIT.FAILED : EXIT.OK;
}
