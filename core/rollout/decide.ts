/** What a rollout does next: a pure function of one picture. It remembers nothing. */

import { cut } from '../encoding/one-line';
import { ANNOTATION } from '../names';
import { isTargetCancelled } from './cancelled';
import { conditionsOf } from './conditions';
import {
  canariesOf,
  decideGrants,
  isGivenBack,
  outOfService,
  preparedNow,
  type GrantDecision,
  type Limits,
} from './grants';
import { pictureOf, type Observation, type OpenUpdate, type Picture } from './picture';
import { listed, type Grant, type PoolRolloutStatus, type RolloutCounts } from './pool-rollout';
import {
  rolloutState,
  RolloutState,
  type NamedReason,
  type RolloutEnd,
  type StateAndBlocker,
} from './progress';
import {
  VISIBILITY_LAG_MS,
  CANCELLED_BY_PERSON,
  lostOf,
  runsInDoubt,
  unwantedUpdates,
  wantedUpdates,
  type UnwantedUpdate,
  type WantedUpdate,
} from './running';
import type { Member, Standing } from './standing';
import { isTriedOnceMore, looksHalted } from './threshold';

/** While an update or a grant exists, what happens without a word is seen this soon. */
const LOOK_SOON_SECONDS = 10;
/** Updates are to be started that were put off. */
const LOOK_AT_ONCE_SECONDS = 1;
const LOOK_LATE_SECONDS = 600;
const BLOCKER_AT_MOST = 1000;
/** Visibility shows a workflow after this time at the latest. */
const SHOWN_AFTER_MS = 30_000;

export interface Decision {
  readonly status: PoolRolloutStatus;
  /** The list of grants is not the one that was read. */
  readonly grantsChanged: boolean;
  /** Nodes that get a grant now. */
  readonly granted: readonly string[];
  /** Grants whose run has to be asked for by its ID; the next picture says which of them are closed. */
  readonly inDoubt: readonly Grant[];
  readonly start: readonly WantedUpdate[];
  readonly cancel: readonly UnwantedUpdate[];
  /** Grants whose run has not taken its node and is closed: its Node has to say so. */
  readonly close: readonly Grant[];
  /** No update is left, and none will begin; absent = the rollout goes on. */
  readonly ended?: RolloutEnd;
  readonly lookAgainSeconds: number;
}

export function decide(seen: Observation): Decision {
  const picture = pictureOf(seen);
  if (picture.unreadable !== undefined) return standStill(picture, picture.unreadable);
  const { before } = picture;
  const limits = limitsOf(picture);
  const decision = decideGrants(picture, limits);
  const { grants, granted } = decision;
  const { toClose } = lostOf(picture, limits, grants);
  const isAtRest = isAtRestNow(picture, grants);
  const { state, blocker } = stateOf(picture, limits, decision, isAtRest);
  const ended = isAtRest ? endOf(state, limits) : undefined;
  const { start, isPutOff } = wantedUpdates(picture, limits, grants);
  return {
    status: statusOf(picture, decision, { state, ...(blocker === undefined ? {} : { blocker }) }),
    grantsChanged: !isSameList(before?.grants ?? [], grants),
    granted,
    inDoubt: runsInDoubt(picture, grants),
    start,
    cancel: unwantedUpdates(picture, limits.isCancelled),
    close: toClose,
    ...(ended === undefined ? {} : { ended }),
    // What is to be started may wait for an update that has said that it is over, and is listed as open.
    lookAgainSeconds: lookAgainAfter({ isPutOff, isAtRest: isAtRest && start.length === 0 }),
  };
}

/** Nobody knows who the members are: all stays as it is until the pool is mended, or its rollout is cancelled. */
function standStill(picture: Picture, unreadable: string): Decision {
  const { before, now, open } = picture;
  const { isCancelled } = limitsOf(picture);
  const reason = CANCELLED_BY_PERSON;
  const updates = (open?.updates ?? []).filter(({ takesBack }) => takesBack !== true);
  const isAtRest = open?.updates.length === 0 && (before?.grants.length ?? 0) === 0;
  const said = { state: RolloutState.BLOCKED, blocker: cut(unreadable, BLOCKER_AT_MOST) };
  const nothing = { grants: [], granted: [], withheld: [] };
  const known = { ...statusOf(picture, nothing, said), ...before };
  const { done, failed, counts } = known;
  const facts = { ...said, done, failed, failedCount: counts.failed };
  const { maxUnavailable } = picture;
  const conditions = conditionsOf({ ...facts, maxUnavailable }, before?.conditions, now);
  return {
    status: { ...known, ...said, conditions },
    ...{ grantsChanged: false, granted: [], inDoubt: [], start: [], close: [] },
    cancel: isCancelled ? updates.map(({ node, run }) => ({ node, run, reason })) : [],
    ...(isCancelled && isAtRest ? { ended: 'cancelled' as const } : {}),
    lookAgainSeconds: LOOK_SOON_SECONDS,
  };
}

function lookAgainAfter({ isPutOff, isAtRest }: Record<'isPutOff' | 'isAtRest', boolean>): number {
  if (isPutOff) return LOOK_AT_ONCE_SECONDS;
  return isAtRest ? LOOK_LATE_SECONDS : LOOK_SOON_SECONDS;
}

function statusOf(
  picture: Picture,
  decision: GrantDecision,
  { state, blocker: said }: StateAndBlocker,
): PoolRolloutStatus {
  const { target, before, members, allowedUnavailable: maxUnavailable } = picture;
  const blocker = said === undefined ? {} : { blocker: cut(said, BLOCKER_AT_MOST) };
  const counts = countsOf(picture, decision);
  const failed = listed(reasonsOf(picture, 'failed'));
  const done = `${counts.updated}/${members.length}`;
  const facts = { state, ...blocker, done, failed, failedCount: counts.failed, maxUnavailable };
  return {
    ...(target === undefined ? {} : { config: target }),
    startedAt: isBegunAnew(picture, state) ? picture.now : picture.startedAt,
    state,
    ...blocker,
    done,
    counts,
    failed,
    held: listed(reasonsOf(picture, 'held')),
    grants: decision.grants,
    conditions: conditionsOf(facts, before?.conditions, picture.now),
  };
}

/** It was completed on this config, and has something to do again. */
function isBegunAnew({ before, target }: Picture, state: RolloutState): boolean {
  const wasCompleted = before?.state === RolloutState.COMPLETED && before.config === target;
  return wasCompleted && state !== RolloutState.COMPLETED;
}

/** What may begin now, and what not. */
interface PoolLimits extends Limits {
  readonly isCancelled: boolean;
  /** A person has to start it. */
  readonly isUnstarted: boolean;
}

/**
 * An update that has said on its Node that it is over is none to wait for: visibility may show it for a while. Nor is
 * one whose Node is gone: it was told to end, and a machine that is gone may take it long to notice.
 */
function isAtRestNow(picture: Picture, grants: readonly Grant[]): boolean {
  const { open, byName, members } = picture;
  if (members.some((member) => mayRunUnseen(member, picture))) return false;
  const isNoneToWaitFor = ({ node, uid, run }: OpenUpdate): boolean => {
    const member = byName.get(node);
    if (member === undefined || member.uid !== (uid ?? member.uid)) return true;
    return member.last?.isOver === true && member.last.id === run;
  };
  return (
    open?.updates.every(isNoneToWaitFor) === true &&
    grants.every((grant) => isGivenBack(grant, picture))
  );
}

/**
 * Visibility may not show its update yet: one of a config before, unless it has had one of this config since; or one
 * that has said that it is prepared.
 */
function mayRunUnseen(member: Member, picture: Picture): boolean {
  const { last } = member;
  const listedAt = Date.parse(picture.open?.listedAt ?? picture.now);
  const startedMs = Date.parse(picture.startedAt);
  const isOfNow = last?.isOver === true && last.startedMs >= startedMs;
  if (!isOfNow && startedMs > listedAt - VISIBILITY_LAG_MS) return true;
  const prepared = preparedNow(member, picture);
  return prepared !== undefined && Date.parse(prepared.startedAt) > listedAt - SHOWN_AFTER_MS;
}

function endOf(state: RolloutState, limits: PoolLimits): RolloutEnd | undefined {
  if (limits.isCancelled) return 'cancelled';
  if (state === RolloutState.COMPLETED) return 'completed';
  return limits.isUnstarted ? 'not started' : undefined;
}

function limitsOf(picture: Picture): PoolLimits {
  const { pool, target, paused, invalid, members, policy } = picture;
  const { annotations = {} } = pool.metadata;
  const isCancelled = picture.isCancelled === true || isTargetCancelled(pool);
  const isUnstarted =
    policy.trigger === 'Manual' && annotations[ANNOTATION.ROLLOUT_STARTED] === undefined;
  const isStandstill =
    isCancelled || isUnstarted || paused || target === undefined || invalid !== undefined;
  const canaries = canariesOf(policy, countOf(picture, 'updated'));
  const isHalted = looksHalted(members, policy);
  return {
    isCancelled,
    isUnstarted,
    isStandstill,
    isHalted,
    ...(canaries === undefined ? {} : { canaries }),
  };
}

function stateOf(
  picture: Picture,
  limits: PoolLimits,
  decision: GrantDecision,
  isAtRest: boolean,
): StateAndBlocker {
  const { pool, target, paused, members, maxUnavailable, quorum, policy, invalid } = picture;
  const pausedReason = pool.metadata.annotations?.[ANNOTATION.PAUSED_REASON];
  const failed = reasonsOf(picture, 'failed');
  const found = rolloutState({
    pool: pool.metadata.name,
    ...(target === undefined ? {} : { config: target }),
    paused,
    ...(pausedReason === undefined ? {} : { pausedReason }),
    cancelling: limits.isCancelled && !isAtRest,
    cancelled: isTargetCancelled(pool),
    unstarted: limits.isUnstarted,
    halted: limits.isHalted,
    machineCount: members.length,
    maxUnavailable,
    updated: countOf(picture, 'updated'),
    unavailable: [...outOfService(members, decision.grants)],
    unavailableBecause: members.flatMap(({ isOut, name, standing }) =>
      isOut && standing.is === 'blocked' ? [{ node: name, reason: standing.reason }] : [],
    ),
    children: childrenOf(picture, decision),
    ...(quorum === undefined ? {} : { controlPlane: quorum }),
    candidateCount: waitingToStart(picture, decision.grants),
    failed,
    triedAgain: members.filter(isTriedOnceMore).map(({ name }) => name),
    held: reasonsOf(picture, 'held'),
    blocked: reasonsOf(picture, 'blocked'),
    policy,
  });
  return invalid === undefined ? found : { ...found, blocker: invalid };
}

/** Updates that have a grant, and those that wait for one for a reason of their own. */
function childrenOf(picture: Picture, { grants, withheld }: GrantDecision) {
  const working = grants
    .filter((grant) => !isGivenBack(grant, picture))
    .map(({ node, run }) => ({ node, isGranted: true, ...lostSentence(picture, run) }));
  const waiting = withheld.flatMap(({ node, reason: blocker }) =>
    blocker === '' ? [] : [{ node, isGranted: false, blocker }],
  );
  return [...working, ...waiting];
}

function lostSentence({ closed }: Picture, run: string): { readonly blocker?: string } {
  return closed.has(run) ? { blocker: 'its update was lost; it is taken up again' } : {};
}

function waitingToStart(picture: Picture, grants: readonly Grant[]): number {
  const granted = new Set(grants.map(({ node }) => node));
  return picture.members.filter(
    (member) =>
      member.standing.is === 'open' &&
      !granted.has(member.name) &&
      preparedNow(member, picture) === undefined,
  ).length;
}

function countsOf(picture: Picture, { grants, withheld }: GrantDecision): RolloutCounts {
  const { members, maxUnavailable, simulated } = picture;
  return {
    machines: members.length,
    updated: countOf(picture, 'updated'),
    outOfService: outOfService(members, grants).size,
    mayBeOut: maxUnavailable,
    waiting: withheld.length,
    failed: countOf(picture, 'failed'),
    held: countOf(picture, 'held'),
    blocked: countOf(picture, 'blocked'),
    ...(simulated === 0 ? {} : { simulated }),
  };
}

function countOf({ members }: Picture, is: Standing['is']): number {
  return members.filter(({ standing }) => standing.is === is).length;
}

function reasonsOf(
  { members }: Picture,
  is: 'failed' | 'held' | 'blocked',
): readonly NamedReason[] {
  return members.flatMap(({ name, standing }) =>
    standing.is === is ? [{ node: name, reason: standing.reason }] : [],
  );
}

function isSameList(before: readonly Grant[], now: readonly Grant[]): boolean {
  return (
    before.length === now.length &&
    before.every((grant, index) => {
      const other = now[index];
      return grant.node === other?.node && grant.run === other.run && grant.uid === other.uid;
    })
  );
}
