/** What a rollout says of itself: how far it is, what it waits for, and why. Decides nothing. */

import { fewNames } from '../core/few';
import {
  decideSlots,
  type NamedReason,
  remainingSeconds,
  rolloutState,
  type StateAndBlocker,
} from '../core/rollout/index';
import type { PoolLook } from './contracts/cluster';
import {
  failedCount,
  failedReasons,
  heldReasons,
  triedAgain,
  unheardCount,
} from './left-out-nodes';
import type { ChildState, NodeReport, RolloutAnswer, RolloutProgress } from './messages';
import {
  downWithoutSlot,
  heldByControlPlane,
  heirsFirst,
  isEndingWithoutSlot,
  isHalted,
  isWorkingOrAbout,
  mayNotGoOn,
  prepared,
  slotRequest,
} from './rollout-decisions';
import type { Rollout } from './rollout-state';

/** Names in a list; the counts say how many there are. */
const SHOWN = 50;

const WORDS_TO_BE_WRITTEN = 'what people have asked for to be written';

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

/** The same without the reports, for what is kept in the history. */
export function answerOf(rollout: Rollout): RolloutAnswer {
  const { view, pool, config, startedAt } = rollout;
  const children = [...rollout.children.values()];
  const retried = triedAgain(rollout);
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
    failed: failedReasons(rollout).slice(0, SHOWN),
    held: heldReasons(rollout).slice(0, SHOWN),
    blocked: blockedReasons(rollout).slice(0, SHOWN),
    ...countsOf(rollout),
    ...(retried.length === 0 ? {} : { triedAgain: retried.slice(0, SHOWN) }),
    waitingCount: candidatesLeft(rollout),
    startedAt,
    ...(remaining === undefined ? {} : { remainingSeconds: remaining }),
  };
}

function stateOf(rollout: Rollout): StateAndBlocker {
  const { view, pool, config, starting, ending, viewProblem } = rollout;
  if (view === undefined) return unseen(rollout);
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
    childrenDown: downWithoutSlot(rollout),
    childrenHeld: heldByControlPlane(rollout),
    ...(view.controlPlane === undefined ? {} : { controlPlane: view.controlPlane }),
    candidateCount: candidatesLeft(rollout) + starting.size,
    failed: failedReasons(rollout),
    triedAgain: triedAgain(rollout),
    held: heldReasons(rollout),
    blocked: blockedReasons(rollout),
    ...countsOf(rollout),
    unheardCount: unheardCount(rollout),
    policy: view.policy,
    canaryLeft: canaryLeft(rollout),
  });
  const last = lastWait(rollout, found.state === 'Completed');
  if (last !== undefined) return { ...found, blocker: `waiting for ${last}` };
  const { state } = found;
  const unknown = unknownProblem(rollout);
  // One of them may be about to change a node that is done.
  if (state === 'Completed' && unknown !== undefined) return { state: 'Rolling', blocker: unknown };
  // Who may not go on anyway says so first.
  const isUnderWay = state === 'Rolling' || state === 'Blocked';
  const itsOwn = heldBack(rollout) ?? view.invalid ?? unreadableConfig(rollout) ?? unknown;
  const problem = viewProblem ?? (isUnderWay ? itsOwn : undefined);
  const blocker = problem ?? found.blocker ?? unwritten(rollout);
  return blocker === undefined ? found : { ...found, blocker };
}

/** Of a pool that no look has shown. */
function unseen(rollout: Rollout): StateAndBlocker {
  const { pool, ending, viewProblem } = rollout;
  const why = viewProblem ?? `looking at pool ${pool}`;
  if (ending === undefined) return { state: 'Rolling', blocker: why };
  const last = lastWait(rollout, false);
  return { state: 'Cancelling', blocker: last === undefined ? why : `waiting for ${last}` };
}

/** No update runs, and who is to be tried is not started before that is written. */
function unwritten({ children, words }: Rollout): string | undefined {
  return children.size === 0 && words.areOpen() ? `waiting for ${WORDS_TO_BE_WRITTEN}` : undefined;
}

/** What a rollout that has no update left still waits for. */
function lastWait(rollout: Rollout, isDone: boolean): string | undefined {
  const { writing, ending, isSaying, words } = rollout;
  if (writing !== undefined) return writing;
  const isEnding = ending !== undefined && rollout.children.size === 0;
  if (isEnding && isSaying) return 'what it has told its updates and nodes to arrive';
  return words.areOpen() && (isEnding || isDone) ? WORDS_TO_BE_WRITTEN : undefined;
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

/** Usually for a moment; who has yet to end may take as long as its host is away. */
function whyUnanswered({ starting }: Rollout, child: ChildState): string | undefined {
  // It may say that it is prepared before Temporal says that it has started.
  if (starting.has(child.node) && child.stage === 'preparing') {
    return 'waiting for Temporal to start its update';
  }
  if (isEndingWithoutSlot(child)) return `waiting for its update to ${child.config} to end`;
  if (child.adopting !== true) return undefined;
  return 'waiting for its update, which ran already, to say how far it is';
}

/** Who keeps all others from trying the config, half done on it, and is taken up by nobody. */
function canaryLeft(rollout: Rollout): readonly NamedReason[] {
  const { canary } = slotRequest(rollout);
  if (canary === undefined || canary.trying.length < canary.slots) return [];
  const held = heldReasons(rollout).map(({ node, reason }) => ({
    node,
    reason: `held (${reason}); retry it to let it be updated`,
  }));
  const left = new Set(canary.trying.filter((node) => !rollout.children.has(node)));
  return [...held, ...blockedReasons(rollout)].filter(({ node }) => left.has(node));
}

/** Why each prepared update has no slot yet; a pause, a halt and an invalid pool are the rollout's own blockers. */
function whyWithoutSlot(rollout: Rollout): ReadonlyMap<string, string> {
  const isInvalid = rollout.view?.invalid !== undefined;
  if (mayNotGoOn(rollout) || isHalted(rollout) || isInvalid) return new Map();
  const waiting = heirsFirst(prepared(rollout));
  const { withheld } = decideSlots({ ...slotRequest(rollout), waiting });
  return new Map(withheld.map(({ node, reason }) => [node, reason]));
}

/** Those under way go on meanwhile. */
function heldBack({ saysNothingNew, halfDone: { unmet } }: Rollout): string | undefined {
  if (saysNothingNew) {
    return 'waiting for Temporal to confirm what its updates were told, to go on in a new run';
  }
  if (unmet.size === 0) return undefined;
  return `waiting for Temporal to say whether updates work on ${fewNames([...unmet])}, which serve half done`;
}

/** It was there when the rollout began; nobody starts without it. */
function unreadableConfig({ pool, config, view }: Rollout): string | undefined {
  if (view?.config !== undefined || config === '') return undefined;
  return `waiting for the rendered config of pool ${pool}, which does not exist; see its RenderDegraded condition`;
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
  return [...view.unavailableBecause, ...downWithoutSlot(rollout), ...unseen];
}

/** Also of the nodes beyond the lists. */
function countsOf(
  rollout: Rollout,
): Pick<RolloutProgress, 'failedCount' | 'heldCount' | 'blockedCount'> {
  const { heldCount = 0, held = [], blockedCount = 0, blocked = [] } = rollout.view ?? {};
  return {
    failedCount: failedCount(rollout),
    heldCount: heldReasons(rollout).length + heldCount - held.length,
    blockedCount: blockedReasons(rollout).length + blockedCount - blocked.length,
  };
}

function blockedReasons(rollout: Rollout): RolloutProgress['blocked'] {
  const deferred = [...rollout.deferred].map(([node, reason]) => ({ node, reason }));
  return [...deferred, ...(rollout.view?.blocked ?? [])];
}

/** The list has room for all that are left out, so none of them is beyond it. */
function candidatesLeft(rollout: Rollout): number {
  const { view } = rollout;
  if (view === undefined) return 0;
  return view.candidateCount - view.candidates.filter(({ node }) => rollout.isLeftOut(node)).length;
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
