/** What a rollout does next: a pure function of one picture. It remembers nothing. */

import { cut } from '../encoding/one-line';
import { ANNOTATION } from '../names';
import {
  canariesOf,
  decideGrants,
  isGivenBack,
  outOfService,
  preparedNow,
  type GrantDecision,
  type Limits,
} from './grants';
import { pictureOf, type Observation, type Picture } from './picture';
import { listed, type Grant, type PoolRolloutStatus, type RolloutCounts } from './pool-rollout';
import { rolloutState, RolloutState, type StateAndBlocker } from './progress';
import {
  lostOf,
  runsInDoubt,
  unwantedUpdates,
  wantedUpdates,
  type UnwantedUpdate,
  type WantedUpdate,
} from './running';
import type { Member, Standing } from './standing';
import { halted } from './threshold';
import type { NamedReason } from './view';

/** While an update or a grant exists, what happens without a word is seen this soon. */
const LOOK_SOON_SECONDS = 10;
const LOOK_LATE_SECONDS = 600;
const BLOCKER_AT_MOST = 1000;

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
  /** Grants whose run has cordoned nothing and is closed: its Node has to say so. */
  readonly close: readonly Grant[];
  /** Every node is on the config, or the rollout was cancelled, and no update is left. */
  readonly done: boolean;
  readonly lookAgainSeconds: number;
}

export function decide(seen: Observation): Decision {
  const picture = pictureOf(seen);
  const { before, target, open } = picture;
  const limits = limitsOf(picture);
  const decision = decideGrants(picture, limits);
  const { grants, granted } = decision;
  const { state, blocker } = stateOf(picture, limits, decision);
  const { toClose } = lostOf(picture, grants);
  const isAtRest =
    open?.updates.length === 0 && grants.every((grant) => isGivenBack(grant, picture));
  const isNew = before?.config !== target || before?.startedAt === undefined;
  return {
    status: {
      ...(target === undefined ? {} : { config: target }),
      startedAt: isNew ? picture.now : before.startedAt,
      state,
      ...(blocker === undefined ? {} : { blocker: cut(blocker, BLOCKER_AT_MOST) }),
      done: `${countOf(picture, 'updated')}/${picture.members.length}`,
      counts: countsOf(picture, decision),
      failed: listed(reasonsOf(picture, 'failed')),
      held: listed(reasonsOf(picture, 'held')),
      grants,
    },
    grantsChanged: !isSameList(before?.grants ?? [], grants),
    granted,
    inDoubt: runsInDoubt(picture, grants),
    start: wantedUpdates(picture, limits, grants),
    cancel: unwantedUpdates(picture, limits.isCancelled),
    close: toClose,
    done: isAtRest && (state === RolloutState.COMPLETED || limits.isCancelled),
    lookAgainSeconds: isAtRest ? LOOK_LATE_SECONDS : LOOK_SOON_SECONDS,
  };
}

/** What may begin now, and what not. */
interface PoolLimits extends Limits {
  readonly isCancelled: boolean;
}

function limitsOf(picture: Picture): PoolLimits {
  const { pool, target, paused, invalid, members, policy } = picture;
  const cancelledFor = pool.metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED];
  const isCancelled = cancelledFor !== undefined && cancelledFor === target;
  const isStandstill = isCancelled || paused || target === undefined || invalid !== undefined;
  const canaries = canariesOf(policy, countOf(picture, 'updated'));
  const isHalted = halted(failedCount(members), policy, members.length);
  return { isCancelled, isStandstill, isHalted, ...(canaries === undefined ? {} : { canaries }) };
}

/** Those that count against the config: failed, or tried again after that until the try has ended. */
function failedCount(members: readonly Member[]): number {
  return members.filter(
    ({ standing, isTriedAgain }) =>
      (standing.is === 'failed' && standing.counts) || (isTriedAgain && standing.is !== 'updated'),
  ).length;
}

function stateOf(picture: Picture, limits: PoolLimits, decision: GrantDecision): StateAndBlocker {
  const { pool, target, paused, members, maxUnavailable, quorum, policy, invalid } = picture;
  const pausedReason = pool.metadata.annotations?.[ANNOTATION.PAUSED_REASON];
  const failed = reasonsOf(picture, 'failed');
  const found = rolloutState({
    pool: pool.metadata.name,
    ...(target === undefined ? {} : { config: target }),
    paused,
    ...(pausedReason === undefined ? {} : { pausedReason }),
    cancelling: limits.isCancelled,
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
    unheardCount: failed.length - members.filter(isFailedThatCounts).length,
    triedAgain: members.flatMap(({ isTriedAgain, name }) => (isTriedAgain ? [name] : [])),
    held: reasonsOf(picture, 'held'),
    blocked: reasonsOf(picture, 'blocked'),
    policy,
  });
  return invalid === undefined ? found : { ...found, blocker: invalid };
}

/** Updates that have a grant, and those that wait for one. */
function childrenOf(picture: Picture, { grants, withheld }: GrantDecision) {
  const working = grants
    .filter((grant) => !isGivenBack(grant, picture))
    .map(({ node, run }) => ({ node, holdsSlot: true, ...lostSentence(picture, run) }));
  const waiting = withheld.map(({ node, reason }) => ({ node, holdsSlot: false, blocker: reason }));
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

function isFailedThatCounts({ standing }: Member): boolean {
  return standing.is === 'failed' && standing.counts;
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
