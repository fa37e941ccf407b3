/**
 * `rollout status` at one instant, from the cluster's objects and what Temporal says of the rollout. Pure.
 */

import { ANNOTATION, PoolCondition } from '../core/names';
import { isSimulated } from '../core/node/predicates';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, ResolvedPolicy } from '../core/pool/types';
import { isTargetCancelled } from '../core/rollout/cancelled';
import { canariesOf, decideGrants, goingOn, outOfService } from '../core/rollout/grants';
import { pictureOf, type OpenUpdate, type Picture } from '../core/rollout/picture';
import type { PoolRolloutStatus } from '../core/rollout/pool-rollout';
import { EXIT, type ExitCode } from './exit-codes';
import { type NodeRow, rowOf } from './node-rows';
import type { OpenRollout, PausedInTemporal } from './ports';
import type { RunningStep } from './running-step';

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
  /** Nodes with a grant that counts, or out of service by themselves. */
  readonly outOfService: number;
  readonly startedAt?: string;
  readonly rows: readonly NodeRow[];
}

export interface SnapshotInput {
  readonly pool: MachineConfigPool;
  readonly policy: ResolvedPolicy;
  /** Members of the pool. */
  readonly nodes: readonly Node[];
  /** Of the cluster. */
  readonly controlPlane: readonly Node[];
  readonly machineConfigNodes: ReadonlyMap<string, MachineConfigNode>;
  /** As a step wrote it last; absent = none has. */
  readonly written?: PoolRolloutStatus;
  /** Absent = no rollout runs. */
  readonly rollout?: OpenRollout | PausedInTemporal;
  readonly updates: readonly OpenUpdate[];
  /** As far as they were queried. */
  readonly steps?: ReadonlyMap<string, RunningStep>;
  readonly nowMs: number;
}

export function takeSnapshot(input: SnapshotInput): RolloutSnapshot {
  const { pool, nodes } = input;
  const picture = pictureFor(input);
  const { target: config, members, maxUnavailable } = picture;
  const rows = rowsOf(input, picture);
  const said = saidByRollout(input, rows);
  const isPaused = input.rollout !== undefined && 'pausedInTemporal' in input.rollout;
  return {
    pool: pool.metadata.name,
    ...(config === undefined ? {} : { config }),
    state: said?.state ?? (isPaused ? 'Paused' : headline(pool, rows)),
    ...blockerOf(input, picture, { rows, said }),
    machineCount: nodes.length,
    simulatedCount: nodes.filter(isSimulated).length,
    updated: rows.filter((row) => row.group === 'Updated').length,
    maxUnavailable,
    outOfService: outOfService(members, goingOn(picture)).size,
    ...(said?.startedAt === undefined ? {} : { startedAt: said.startedAt }),
    rows,
  };
}

function pictureFor(input: SnapshotInput): Picture {
  const { pool, policy, nodes, controlPlane, machineConfigNodes, written, updates } = input;
  const now = new Date(input.nowMs).toISOString();
  return pictureOf({
    ...{ pool, policy, nodes, controlPlane, now },
    machineConfigNodes: [...machineConfigNodes.values()],
    ...(written === undefined ? {} : { before: written }),
    open: { listedAt: now, updates },
    closed: new Set(),
  });
}

function rowsOf(input: SnapshotInput, picture: Picture): readonly NodeRow[] {
  const { machineConfigNodes, updates, steps } = input;
  const grants = new Map(input.written?.grants.map((grant) => [grant.node, grant]));
  const openUpdates = new Map(updates.map((update) => [update.node, update]));
  const withheld = whyWithheld(input, picture);
  return picture.members.map((member) => {
    const { name } = member;
    const known = {
      target: picture.target,
      machineConfigNode: machineConfigNodes.get(name),
      grant: grants.get(name),
      update: openUpdates.get(name),
      withheld: withheld.get(name),
      step: steps?.get(name),
    };
    return rowOf(member, known);
  });
}

/** What each prepared node waits for, as the next step decides it. Where all wait, the rollout as a whole says why. */
function whyWithheld(
  { written, rollout }: SnapshotInput,
  picture: Picture,
): ReadonlyMap<string, string> {
  const state = rollout === undefined ? undefined : written?.state;
  const isHalted = state === 'Halted';
  const isStandstill = !isHalted && state !== 'Rolling' && state !== 'Blocked';
  const updated = picture.members.filter(({ standing }) => standing.is === 'updated').length;
  const canaries = canariesOf(picture.policy, updated);
  const limits = { isStandstill, isHalted, ...(canaries === undefined ? {} : { canaries }) };
  const { withheld } = decideGrants(picture, limits);
  return new Map(withheld.map(({ node, reason }) => [node, reason]));
}

/**
 * What the rollout has written, unless it has yet to look at what the cluster shows by now: another config, a pause or
 * its end, or nodes that are not updated any more.
 */
function saidByRollout(
  { pool, rollout, written }: SnapshotInput,
  rows: readonly NodeRow[],
): PoolRolloutStatus | undefined {
  if (rollout === undefined || 'pausedInTemporal' in rollout || written === undefined) {
    return undefined;
  }
  const { state, config } = written;
  const isPaused = pool.spec.paused === true;
  if (config !== (pool.spec.configuration?.name || undefined)) return undefined;
  if (state === 'Paused' && !isPaused) return undefined;
  if ((state === 'Rolling' || state === 'Halted') && isPaused) return undefined;
  if (state === 'Completed' && !areUpdated(rows)) return undefined;
  return written;
}

/** Updated only when the nodes agree. */
function headline(pool: MachineConfigPool, rows: readonly NodeRow[]): string {
  if (isTrue(pool, PoolCondition.DEGRADED)) return 'Degraded';
  if (pool.spec.paused === true) return 'Paused';
  if (areUpdated(rows)) return 'Updated';
  return isTargetCancelled(pool) ? 'Cancelled' : 'Waiting';
}

function areUpdated(rows: readonly NodeRow[]): boolean {
  return rows.every((row) => row.group === 'Updated');
}

interface Shown {
  readonly rows: readonly NodeRow[];
  readonly said: PoolRolloutStatus | undefined;
}

function blockerOf(
  input: SnapshotInput,
  { invalid }: Picture,
  shown: Shown,
): { readonly blocker?: string } {
  const degraded = input.pool.status?.conditions?.find(
    (condition) => condition.type === PoolCondition.RENDER_DEGRADED && condition.status === 'True',
  );
  const blocker = degraded?.message ?? invalid ?? rolloutBlocker(input, shown);
  return blocker === undefined || blocker === '' ? {} : { blocker };
}

function rolloutBlocker(input: SnapshotInput, { rows, said }: Shown): string | undefined {
  const { rollout } = input;
  const isWaiting = rows.some(({ group }) => NOT_BEGUN.has(group));
  if (rollout === undefined) return isWaiting ? whyNoRollout(input) : undefined;
  if ('pausedInTemporal' in rollout) return rollout.pausedInTemporal;
  if (rollout.blocker !== undefined) {
    return `the rollout does not look at its pool: ${rollout.blocker}`;
  }
  if (said !== undefined) return said.blocker;
  return (
    whyPaused(input.pool) ?? (isWaiting ? 'the rollout has yet to look at its pool' : undefined)
  );
}

const NOT_BEGUN: ReadonlySet<string> = new Set(['Pending', 'Preparing', 'WaitingForGrant']);

/** A person decided so, or the controllers have yet to start one. */
function whyNoRollout({ pool, policy }: SnapshotInput): string {
  const { name, annotations = {} } = pool.metadata;
  const start = `start it: slipway rollout start ${name}`;
  if (isTargetCancelled(pool)) {
    return `the rollout of this config was cancelled; ${start}`;
  }
  const paused = whyPaused(pool);
  if (paused !== undefined) return paused;
  return policy.trigger === 'Manual' && annotations[ANNOTATION.ROLLOUT_STARTED] === undefined
    ? `the policy of this pool says Manual; ${start}`
    : 'no rollout runs yet; the controllers start one when they see the config';
}

function whyPaused({ spec, metadata }: MachineConfigPool): string | undefined {
  if (spec.paused !== true) return undefined;
  const reason = metadata.annotations?.[ANNOTATION.PAUSED_REASON];
  const why = reason === undefined ? '' : ` (${reason})`;
  return `the pool is paused${why}; resume it: slipway rollout resume ${metadata.name}`;
}

function isTrue(pool: MachineConfigPool, type: string): boolean {
  return pool.status?.conditions?.some((c) => c.type === type && c.status === 'True') === true;
}

/** Nothing changes without a person. */
export function isSettled(snapshot: RolloutSnapshot): boolean {
  if (['Completed', 'Updated', 'Cancelled'].includes(snapshot.state)) return true;
  return exitCodeOf(snapshot) === EXIT.FAILED;
}

export function exitCodeOf(snapshot: RolloutSnapshot): ExitCode {
  if (snapshot.state === 'Paused') return EXIT.PAUSED;
  if (['Halted', 'Degraded', 'Cancelled'].includes(snapshot.state)) return EXIT.FAILED;
  const failed = snapshot.rows.some((row) => row.group === 'Failed');
  const moving = snapshot.rows.some(
    (row) => !['Failed', 'Held', 'Blocked', 'Updated'].includes(row.group),
  );
  return failed && !moving ? EXIT.FAILED : EXIT.OK;
}
