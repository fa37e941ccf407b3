/** From what a rollout knows to what it does next; the rules are those of `core/rollout`. */

import { patched } from '@temporalio/workflow';
import {
  canaryLimit,
  decideSlots,
  freeSlots,
  halted,
  remainingSeconds,
  rolloutState,
  slotNumber,
  startable,
  type Candidate,
  type NamedReason,
  type StateAndBlocker,
} from '../core/rollout/index';
import type { PoolLook } from './activity-contracts';
import type { ChildState, NodeReport, RolloutAnswer, RolloutProgress, Slot } from './messages';
import type { Rollout } from './rollout-state';

/** Temporal bears many more children at once, but not many more in one history. */
const CHILDREN_AT_MOST = 500;
/** Broken nodes that are looked at beyond the number that may be prepared ahead. */
const REPAIRS_AHEAD = 20;
const SHOWN = 50;
/** Rollouts that were begun before let a node use the slot of a lost update, whoever tries the config. */
const CANARY_KEEPS_HEIRS = 'canary-keeps-inherited-slots';

/** Rollouts that were begun before it prepare nobody ahead while an update that was stopped has yet to end. */
const ENDING_NOT_AHEAD = 'ending-updates-are-not-ahead';

/** How many candidates the next look should return. */
export function candidatesWanted(rollout: Rollout): number {
  const { view } = rollout;
  const waiting = [...rollout.children.values()].filter(({ stage }) => stage === 'waiting').length;
  const ahead = view === undefined ? SHOWN : Math.min(SHOWN, roomAhead(rollout) + waiting);
  return ahead + REPAIRS_AHEAD + rollout.failed.size + rollout.heldByUs.size;
}

/** Updates that run on another config than the pool's. Those past no return finish first. */
export function outdated(rollout: Rollout): readonly ChildState[] {
  return [...rollout.children.values()].filter(
    (child) =>
      child.config !== rollout.config && child.cancelling === undefined && child.adopting !== true,
  );
}

/** Candidates whose update should start now: broken nodes in any case, others ahead of slots. */
export function toStart(rollout: Rollout): readonly Candidate[] {
  const { view, children } = rollout;
  if (view?.config === undefined || mayNotGoOn(rollout)) return [];
  let room = Math.min(roomAhead(rollout), CHILDREN_AT_MOST - children.size);
  const possible = view.candidates.filter(
    ({ node }) => !rollout.isOutOfQuestion(node) && isFreeToGo(rollout, node),
  );
  return possible.filter(({ node, repair }) => {
    const hasItsSlot = repair || rollout.hasOrphanedSlot(node);
    // Who stands still because of the halt must not be in the way of who may go.
    return hasItsSlot || rollout.retry.has(node) || room-- > 0;
  });
}

/** Waiting updates that get their slot now. */
export function toGrant(rollout: Rollout): readonly string[] {
  const { view, knows } = rollout;
  if (view === undefined || knows !== 'all' || mayNotGoOn(rollout)) return [];
  return withSlots(
    rollout,
    prepared(rollout).filter(({ node }) => isFreeToGo(rollout, node)),
  );
}

/** Those of them that may use the slot that they have, and those that get one. */
function withSlots(rollout: Rollout, ready: readonly ChildState[]): readonly string[] {
  const waiting = heirsFirst(ready);
  const { granted } = decideSlots({ ...slotRequest(rollout), waiting });
  const may = new Set(granted);
  const kept = ready.filter(({ node, holdsSlot }) => holdsSlot && !may.has(node));
  if (kept.length === 0 || patched(CANARY_KEEPS_HEIRS)) return granted;
  const heirs = ready.filter(({ holdsSlot }) => holdsSlot).map(({ node }) => node);
  return [...heirs, ...granted.filter((node) => !heirs.includes(node))];
}

function heirsFirst(ready: readonly ChildState[]): readonly string[] {
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
 * Whom a paused or halted rollout takes up all the same: nodes that an update of ours has left half done. They
 * are out of service already, so that they cost no slot, and nobody else brings them back.
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
function prepared({ children, config: wanted }: Rollout): readonly ChildState[] {
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
  if (mayNotGoOn(rollout) || isHalted(rollout)) return false;
  const others = view.candidates.some(({ node }) => !rollout.isOutOfQuestion(node));
  return !others && [...children.values()].every(isWorkingOrAbout);
}

/** It has a slot, and does not wait to be told that it may use it. */
function isWorkingOrAbout({ holdsSlot, stage }: ChildState): boolean {
  return holdsSlot && stage !== 'waiting';
}

/** It has been told to stop and wants no slot any more: its host still tidies up, or is away. */
function isEndingWithoutSlot({ cancelling, holdsSlot }: ChildState): boolean {
  return cancelling !== undefined && !holdsSlot;
}

/** Nodes that wait although they have a slot work on nothing, and neither does whoever has not answered. */
function withBlockers(rollout: Rollout): readonly ChildState[] {
  const children = [...rollout.children.values()].map((child) => {
    const blocker = whyUnanswered(rollout, child);
    return blocker === undefined ? child : { ...child, blocker };
  });
  const isKept = (child: ChildState) => child.holdsSlot && !isWorkingOrAbout(child);
  if (!children.some(isKept)) return children;
  const why = whyWithoutSlot(rollout);
  return children.map((child) =>
    isKept(child) ? { blocker: why.get(child.node) ?? 'waiting for its turn', ...child } : child,
  );
}

/** Usually for a moment only. */
function whyUnanswered({ starting }: Rollout, child: ChildState): string | undefined {
  // It may say that it is prepared before Temporal says that it has started.
  if (starting.has(child.node) && child.stage === 'preparing') {
    return 'waiting for Temporal to start its update';
  }
  if (isEndingWithoutSlot(child)) return `waiting for its update to ${child.config} to end`;
  if (child.adopting !== true) return undefined;
  return 'waiting for its update, which ran already, to say how far it is';
}

/** Every node is on the config, the view knows it, and nothing runs any more. */
export function isCompleted(rollout: Rollout): boolean {
  return (
    rollout.knows === 'all' && !rollout.isViewBehind() && stateOf(rollout).state === 'Completed'
  );
}

/** What `poolRollout` answers to `progress`. Every list is bounded. */
export function progressOf(rollout: Rollout): RolloutProgress {
  const answer = answerOf(rollout);
  const why = whyWithoutSlot(rollout);
  const children = answer.children.map((child) => {
    const blocker = whyUnanswered(rollout, child) ?? why.get(child.node);
    return blocker === undefined ? child : { ...child, blocker };
  });
  return { ...answer, children, reports: rollout.reports };
}

/** Why each prepared update has no slot yet; a pause and a halt are the rollout's own blockers. */
function whyWithoutSlot(rollout: Rollout): ReadonlyMap<string, string> {
  if (mayNotGoOn(rollout) || isHalted(rollout)) return new Map();
  const waiting = heirsFirst(prepared(rollout));
  const { withheld } = decideSlots({ ...slotRequest(rollout), waiting });
  return new Map(withheld.map(({ node, reason }) => [node, reason]));
}

/** The same without the reports, for what is kept in the history. */
export function answerOf(rollout: Rollout): RolloutAnswer {
  const { view, pool, config, startedAt } = rollout;
  const children = [...rollout.children.values()];
  const remaining = remainingOf(rollout);
  return {
    pool,
    config,
    ...stateOf(rollout),
    maxUnavailable: view?.maxUnavailable ?? 0,
    machineCount: view?.machineCount ?? 0,
    ...(view?.simulatedCount === undefined ? {} : { simulatedCount: view.simulatedCount }),
    updated: view?.updated ?? 0,
    slots: rollout.holders(),
    children,
    failed: rollout.failedReasons().slice(0, SHOWN),
    held: rollout.heldReasons().slice(0, SHOWN),
    blocked: blockedReasons(rollout).slice(0, SHOWN),
    ...countsOf(rollout),
    waitingCount: candidatesLeft(rollout),
    startedAt,
    ...(remaining === undefined ? {} : { remainingSeconds: remaining }),
  };
}

function stateOf(rollout: Rollout): StateAndBlocker {
  const { view, pool, config, starting, ending, viewProblem } = rollout;
  if (view === undefined) {
    return { state: 'Rolling', blocker: viewProblem ?? `looking at pool ${pool}` };
  }
  const { paused, reason } = rollout.paused();
  const found = rolloutState({
    pool,
    ...(config === '' ? {} : { config }),
    paused,
    ...(reason === undefined ? {} : { pausedReason: reason }),
    cancelling: ending !== undefined,
    machineCount: view.machineCount,
    maxUnavailable: view.maxUnavailable,
    updated: view.updated,
    unavailable: [...new Set([...view.unavailable, ...rollout.holders()])],
    unavailableBecause: whoTakesSlots(rollout, view),
    children: withBlockers(rollout),
    childrenDown: downWithoutSlot(rollout, view),
    candidateCount: candidatesLeft(rollout) + starting.size,
    failed: rollout.failedReasons(),
    held: rollout.heldReasons(),
    blocked: blockedReasons(rollout),
    ...countsOf(rollout),
    unheardCount: rollout.unheardCount(),
    policy: view.policy,
  });
  // Who may not go on anyway says so first.
  const isUnderWay = found.state === 'Rolling' || found.state === 'Blocked';
  const problem = viewProblem ?? (isUnderWay ? unknownProblem(rollout) : undefined);
  return problem === undefined ? found : { ...found, blocker: problem };
}

/** The list has room for all that are left out, so none of them is beyond it. */
function candidatesLeft(rollout: Rollout): number {
  const { view } = rollout;
  if (view === undefined) return 0;
  return view.candidateCount - view.candidates.filter(({ node }) => rollout.isLeftOut(node)).length;
}

function unknownProblem({ knows, unknownBecause }: Rollout): string | undefined {
  if (knows === 'all') return undefined;
  const why = unknownBecause === undefined ? '' : `: ${unknownBecause}`;
  return `waiting to know which updates of an earlier rollout still run${why}`;
}

/** A slot without an update and without a broken node is kept until nothing can arrive any more. */
function whoTakesSlots(rollout: Rollout, view: PoolLook): readonly NamedReason[] {
  const shown = new Set(view.unavailable);
  const unseen = rollout
    .holders()
    .filter((node) => !shown.has(node) && rollout.hasOrphanedSlot(node))
    .map((node) => ({ node, reason: 'its update ended without putting it back in service' }));
  return [...view.unavailableBecause, ...downWithoutSlot(rollout, view), ...unseen];
}

/** Prepared updates whose node is down by itself: they wait for it, not for a slot. */
function downWithoutSlot(rollout: Rollout, view: PoolLook): readonly NamedReason[] {
  const waiting = new Set(
    prepared(rollout).flatMap(({ node, holdsSlot }) => (holdsSlot ? [] : [node])),
  );
  return (view.downOtherwise ?? []).filter(({ node }) => waiting.has(node));
}

/** Also of the nodes beyond the lists. */
function countsOf(
  rollout: Rollout,
): Pick<RolloutProgress, 'failedCount' | 'heldCount' | 'blockedCount'> {
  const { heldCount = 0, held = [], blockedCount = 0, blocked = [] } = rollout.view ?? {};
  return {
    failedCount: rollout.failedCount(),
    heldCount: rollout.heldReasons().length + heldCount - held.length,
    blockedCount: blockedReasons(rollout).length + blockedCount - blocked.length,
  };
}

function blockedReasons(rollout: Rollout): RolloutProgress['blocked'] {
  const deferred = [...rollout.deferred].map(([node, reason]) => ({ node, reason }));
  return [...deferred, ...(rollout.view?.blocked ?? [])];
}

function mayNotGoOn(rollout: Rollout): boolean {
  const { view, ending, viewProblem } = rollout;
  if (view === undefined || ending !== undefined || viewProblem !== undefined) return true;
  return rollout.paused().paused;
}

function isHalted(rollout: Rollout): boolean {
  const { view } = rollout;
  if (view === undefined) return false;
  const counted = rollout.failedCount() - rollout.unheardCount();
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
  const notAhead = ending > 0 && patched(ENDING_NOT_AHEAD) ? ending : 0;
  return startable({
    policy: view.policy,
    maxUnavailable: view.maxUnavailable,
    freeSlots: freeSlots(slotRequest(rollout)),
    withoutSlot: withoutSlot.length - notAhead,
  });
}

function slotRequest(rollout: Rollout): Omit<Parameters<typeof decideSlots>[0], 'waiting'> {
  const { view, config } = rollout;
  const { policy, updated = 0, updatedNodes } = view ?? {};
  const trying = rollout.tryingNodes(config);
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
  };
}

/** The slot of a node that holds one; who was left unavailable by an update of ours has it for nothing. */
export function slotOf(rollout: Rollout, node: string): Slot {
  const request = slotRequest(rollout);
  const { unavailable, downOtherwise = [] } = request;
  const repair = unavailable.includes(node) && !downOtherwise.some((one) => one.node === node);
  const count = rollout.view?.downOtherwiseCount;
  return count === undefined ? { repair } : { repair, number: slotNumber(request, count) };
}

function reportedUpdated(rollout: Rollout): {
  readonly count: number;
  readonly nodes: readonly string[];
} {
  const nodes = rollout.updatesToTarget().map(({ node }) => node);
  return { count: rollout.updatedByUs, nodes };
}

function remainingOf(rollout: Rollout): number | undefined {
  const { view, reports, config, children } = rollout;
  if (view === undefined) return undefined;
  const all = [...children.values()];
  const working = all.filter(({ holdsSlot }) => holdsSlot);
  return remainingSeconds({
    finishedSeconds: reports.filter(isUpdateTo(config)).map(secondsWithSlot),
    workingSeconds: working.map(({ since }) => (Date.now() - Date.parse(since)) / 1000),
    pending: all.length - working.length + view.candidateCount,
    parallel: view.maxUnavailable,
  });
}

function isUpdateTo(config: string): (report: NodeReport) => boolean {
  return (report) => report.outcome === 'updated' && report.config === config;
}

function secondsWithSlot({ phases }: NodeReport): number {
  return phases
    .filter(({ phase }) => phase !== 'Preparing' && phase !== 'WaitingForSlot')
    .reduce((sum, { seconds }) => sum + seconds, 0);
}
