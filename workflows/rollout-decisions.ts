/** From what a rollout knows to what it does next; the rules are those of `core/rollout`. */

import {
  canaryLimit,
  countedInNumber,
  decideSlots,
  freeSlots,
  halted,
  pendingBefore,
  slotNumber,
  startable,
  type Candidate,
  type NamedReason,
} from '../core/rollout/index';
import { failedCount, triedAgain, unheardCount } from './left-out-nodes';
import type { PoolLook } from './contracts/cluster';
import type { ChildState, Slot } from './messages';
import type { Rollout } from './rollout-state';

/** Temporal bears many more children at once, but not many more in one history. */
const CHILDREN_AT_MOST = 500;
/** Broken nodes that are looked at beyond the number that may be prepared ahead. */
const REPAIRS_AHEAD = 20;
/** Candidates that a look returns at most, besides those. */
const LOOKED_AT = 50;
/** As long as updates that ran already are waited for to say how far they are. */
const ANSWER_MS = 60_000;

/** How many candidates the next look should return. */
export function candidatesWanted(rollout: Rollout): number {
  const { view } = rollout;
  const waiting = [...rollout.children.values()].filter(({ stage }) => stage === 'waiting').length;
  const ahead = view === undefined ? LOOKED_AT : Math.min(LOOKED_AT, roomAhead(rollout) + waiting);
  return ahead + REPAIRS_AHEAD + rollout.failed.size + rollout.heldByUs.size;
}

/** Updates that run on another config than the pool's. Those past no return finish first. */
export function outdated(rollout: Rollout): readonly ChildState[] {
  return [...rollout.children.values()].filter(
    (child) =>
      child.config !== rollout.config && child.cancelling === undefined && child.adopting !== true,
  );
}

/** Candidates whose update should start now: broken and half done nodes in any case, others ahead of slots. */
export function toStart(rollout: Rollout): readonly Candidate[] {
  const { view, children } = rollout;
  if (view?.config === undefined || mayNotGoOn(rollout)) return [];
  const ahead = rollout.saysNothingNew ? 0 : roomAhead(rollout);
  let room = Math.min(ahead, CHILDREN_AT_MOST - children.size);
  const possible = view.candidates.filter(
    ({ node }) =>
      !rollout.isOutOfQuestion(node) &&
      !rollout.halfDone.unmet.has(node) &&
      isFreeToGo(rollout, node),
  );
  return possible.filter(({ node, repair, halfDone }) => {
    const hasItsSlot = repair || rollout.hasOrphanedSlot(node);
    // The others that are prepared may wait for it: it tries the config already.
    if (halfDone === true && !hasItsSlot) return true;
    // Who stands still because of the halt must not be in the way of who may go.
    return hasItsSlot || rollout.retry.has(node) || room-- > 0;
  });
}

/** Waiting updates that get their slot now. */
export function toGrant(rollout: Rollout): readonly string[] {
  const { view, knows } = rollout;
  if (view === undefined || knows !== 'all' || mayNotGoOn(rollout)) return [];
  const isAnyUnmet = isAnyAboutToAnswer(rollout) || rollout.halfDone.unmet.size > 0;
  const givesNew = !rollout.saysNothingNew && !isAnyUnmet;
  return withSlots(
    rollout,
    prepared(rollout).filter(
      ({ node, holdsSlot }) =>
        (holdsSlot || givesNew || view.unavailable.includes(node)) &&
        isFreeToGo(rollout, node) &&
        !rollout.words.isBeingHeld(node),
    ),
  );
}

/**
 * An update that ran already may try a node again that has failed, and then all others wait for it. One that does not
 * say so within a minute is waited for no longer: Temporal is slow.
 */
function isAnyAboutToAnswer(rollout: Rollout): boolean {
  return rollout.unanswered().some(({ since }) => Date.now() - Date.parse(since) < ANSWER_MS);
}

/** Those of them that may use the slot that they have, and those that get one. */
function withSlots(rollout: Rollout, ready: readonly ChildState[]): readonly string[] {
  const waiting = heirsFirst(ready);
  return decideSlots({ ...slotRequest(rollout), waiting }).granted;
}

export function heirsFirst(ready: readonly ChildState[]): readonly string[] {
  const heirs = ready.filter(({ holdsSlot }) => holdsSlot);
  const others = ready.filter(({ holdsSlot }) => !holdsSlot);
  return [...heirs, ...others].map(({ node }) => node);
}

/** What a rollout does that stands still. */
export interface Finishing {
  readonly start: readonly Candidate[];
  readonly grant: readonly string[];
}

/**
 * Whom a paused or halted rollout takes up all the same: nodes that an update of ours has left half done and out
 * of service. They cost no slot, and nobody else brings them back. One that serves can wait.
 */
export function toFinish(rollout: Rollout): Finishing {
  const { view, knows, children } = rollout;
  if (view?.config === undefined || !standsStill(rollout)) return { start: [], grant: [] };
  const start = view.candidates
    .filter(({ node, unfinished }) => unfinished === true && !rollout.isOutOfQuestion(node))
    .slice(0, Math.max(0, CHILDREN_AT_MOST - children.size));
  if (knows !== 'all') return { start, grant: [] };
  const left = new Set(view.unfinished);
  const ready = prepared(rollout).filter(({ node }) => left.has(node));
  return { start, grant: withSlots(rollout, ready) };
}

/** Of whom a rollout that stands still has to know whether an earlier update left them half done. */
export function waitingInStandstill(rollout: Rollout): readonly string[] {
  return standsStill(rollout) ? prepared(rollout).map(({ node }) => node) : [];
}

/** Paused by a person or by failures, and not about to end. */
function standsStill(rollout: Rollout): boolean {
  const { ending, viewProblem } = rollout;
  if (ending !== undefined || viewProblem !== undefined) return false;
  return rollout.paused().paused || isHalted(rollout);
}

/** Updates to this config that wait for their slot. */
export function prepared({ children, config: wanted }: Rollout): readonly ChildState[] {
  return [...children.values()].filter(
    ({ stage, config, cancelling }) =>
      stage === 'waiting' && config === wanted && cancelling === undefined,
  );
}

/**
 * Whether the nodes whose drain timed out get their next turn: nothing else is left to start, and
 * nobody waits for a slot.
 */
export function isTurnOfDeferred(rollout: Rollout): boolean {
  const { view, deferred, children } = rollout;
  if (view === undefined || deferred.size === 0) return false;
  if (mayNotGoOn(rollout) || isHalted(rollout) || rollout.saysNothingNew) return false;
  if (view.candidates.some(({ node }) => !rollout.isOutOfQuestion(node))) return false;
  const waiting = [...children.values()].filter((child) => !isWorkingOrAbout(child));
  if (waiting.length === 0) return true;
  // They may wait for as long as their machine is away.
  const down = new Set(downWithoutSlot(rollout).map(({ node }) => node));
  const isAway = (child: ChildState) => isEndingWithoutSlot(child) || down.has(child.node);
  return waiting.every(isAway);
}

/** Prepared updates whose node is down by itself: they wait for it, not for a slot. */
export function downWithoutSlot(rollout: Rollout): readonly NamedReason[] {
  const waiting = new Set(
    prepared(rollout).flatMap(({ node, holdsSlot }) => (holdsSlot ? [] : [node])),
  );
  return (rollout.view?.downOtherwise ?? []).filter(({ node }) => waiting.has(node));
}

/** Prepared updates for which their pool may have room, and the control plane has none. */
export function heldByControlPlane(rollout: Rollout): readonly NamedReason[] {
  const request = slotRequest(rollout);
  if (request.controlPlane === undefined) return [];
  const { withheld } = decideSlots({ ...request, waiting: heirsFirst(prepared(rollout)) });
  return withheld.filter(({ byControlPlane }) => byControlPlane);
}

/** It has a slot, and does not wait to be told that it may use it. */
export function isWorkingOrAbout({ holdsSlot, stage }: ChildState): boolean {
  return holdsSlot && stage !== 'waiting';
}

/** It has been told to stop and wants no slot any more: its host still tidies up, or is away. */
export function isEndingWithoutSlot({ cancelling, holdsSlot }: ChildState): boolean {
  return cancelling !== undefined && !holdsSlot;
}

export function mayNotGoOn(rollout: Rollout): boolean {
  const { view, ending, viewProblem } = rollout;
  if (view === undefined || ending !== undefined || viewProblem !== undefined) return true;
  return rollout.paused().paused;
}

export function isHalted(rollout: Rollout): boolean {
  const { view } = rollout;
  if (view === undefined) return false;
  const again = triedAgain(rollout).length;
  const counted = failedCount(rollout) - unheardCount(rollout) + again;
  return halted(counted, view.policy, view.machineCount);
}

/** A halted rollout waits for a person; what a person told it to try, it tries. */
function isFreeToGo(rollout: Rollout, node: string): boolean {
  return rollout.retry.has(node) || !isHalted(rollout);
}

function roomAhead(rollout: Rollout): number {
  const { view, children } = rollout;
  if (view === undefined) return 0;
  // One that has not answered yet may turn out to hold none.
  const withoutSlot = [...children.values()].filter(
    ({ holdsSlot, adopting }) => !holdsSlot || adopting === true,
  );
  const ending = withoutSlot.filter(isEndingWithoutSlot).length;
  const down = downWithoutSlot(rollout).length;
  return startable({
    policy: view.policy,
    maxUnavailable: view.maxUnavailable,
    freeSlots: freeSlots(slotRequest(rollout)),
    withoutSlot: withoutSlot.length - ending - down,
  });
}

export function slotRequest(rollout: Rollout): Omit<Parameters<typeof decideSlots>[0], 'waiting'> {
  const { view, config } = rollout;
  const { policy, updated = 0, updatedNodes, trying: halfDone = [] } = view ?? {};
  const trying = [...new Set([...rollout.tryingNodes(config), ...halfDone])];
  const canary =
    policy === undefined
      ? undefined
      : canaryLimit({
          ...{ policy, updated, trying, reported: reportedUpdated(rollout) },
          ...(updatedNodes === undefined ? {} : { updatedNodes }),
        });
  return {
    maxUnavailable: view?.maxUnavailable ?? 0,
    unavailable: view?.unavailable ?? [],
    ...(view?.downOtherwise === undefined ? {} : { downOtherwise: view.downOtherwise }),
    holders: rollout.holders(),
    inherited: rollout.heirs(config),
    ...(canary === undefined ? {} : { canary }),
    ...(view?.controlPlane === undefined ? {} : { controlPlane: view.controlPlane }),
  };
}

/** The slot of a node that holds one; who was left unavailable by an update of ours has it for nothing. */
export function slotOf(rollout: Rollout, view: PoolLook, node: string): Omit<Slot, 'grantedAt'> {
  const request = slotRequest(rollout);
  const { unavailable, downOtherwise = [] } = request;
  const repair = unavailable.includes(node) && !downOtherwise.some((one) => one.node === node);
  const { downOtherwiseCount, countedDown } = view;
  const number = slotNumber(request, downOtherwiseCount);
  // Of a repair nobody counts any room.
  if (repair) return { repair, number };
  const [counts, pending] = [countedInNumber(request, countedDown), pendingBefore(node, request)];
  return {
    ...{ repair, number },
    ...(counts === undefined ? {} : { counts }),
    ...(pending === undefined ? {} : { pending }),
  };
}

function reportedUpdated(rollout: Rollout): {
  readonly count: number;
  readonly nodes: readonly string[];
} {
  const nodes = rollout.updatesToTarget().map(({ node }) => node);
  return { count: rollout.updatedByUs, nodes };
}
