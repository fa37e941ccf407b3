/**
 * The rollout of one pool: which node is updated when. It promises that never more nodes are
 * unavailable than the pool allows, and that no report and no slot is lost, also when it is
 * continued as new, terminated and started again, or overtaken by another config.
 */

import {
  allHandlersFinished,
  condition,
  log,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { poolRolloutId } from '../core/names';
import { explain, isCancellation, refuse, sentence } from './contracts/failures';
import { CLOSING_MS, handOver, isQuiet } from './hand-over';
import type { PoolRolloutInput, RolloutProgress } from './messages';
import { meetHalfDone, meetReturned } from './met-updates';
import { shielded } from './node-update';
import {
  adoptUpdate,
  cancelUpdate,
  endUpdateOf,
  findRunningUpdates,
  grantSlot,
  selectNodes,
  startUpdate,
} from './pool-steps';
import {
  candidatesWanted,
  isTurnOfDeferred,
  outdated,
  toFinish,
  toGrant,
  toStart,
  waitingInStandstill,
} from './rollout-decisions';
import { isCompleted, progressOf } from './rollout-progress';
import { rolloutDetails } from './rollout-details';
import { answerRolloutMessages } from './rollout-messages';
import { Rollout } from './rollout-state';
import { SEARCH_ATTRIBUTE } from './contracts/search-attributes';
import { checkInMs, checkUpdates } from './silent-updates';
import { brief, STILL_RUNNING } from './contracts/timeouts';
import { SILENCE_MS } from './updates-under-way';
import {
  aside,
  forgetCancellation,
  forgetStart,
  hold,
  rememberCancellation,
  rememberStart,
  seemsCancelled,
} from './written-aside';

/** A view that may be behind is looked at again soon. */
const BEHIND_MS = 500;
/** So is a pool that could not be looked at: nothing is decided until then. */
const UNSEEN_MS = 5_000;
/** Which updates run could not be found out, in ten minutes of trying. */
const ASK_AGAIN = '30s';
/** In a long silence only the cluster or a person can change anything, and both say so. */
const IDLE_MS = 600_000;

/**
 * Rolls a pool to its rendered config, node by node. Runs as `pool-rollout/<pool>`: at most one per
 * pool. Answers `progress`; takes `pause`, `resume`, `retryNode`, `skipNode`, `cancelNode` and
 * `retarget`; hears `clusterChanged`, `prepared` and `nodeFinished`.
 *
 * Cancelling it takes back every node that is not past its point of no return, waits for the others
 * and remembers on the pool that this config was cancelled.
 *
 * @returns the last progress, when every node of the pool is on the pool's config
 * @throws `WrongWorkflowId` or `ObjectNotFound` at once, before anything else
 */
export async function poolRollout(input: PoolRolloutInput): Promise<RolloutProgress> {
  refuseWrongStart(input);
  const rollout = new Rollout(input);
  answerRolloutMessages(rollout);
  try {
    return await roll(rollout);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await shielded(() => cancelRollout(rollout));
    throw error;
  }
}

async function roll(rollout: Rollout): Promise<RolloutProgress> {
  for (;;) {
    const seen = rollout.changes;
    await look(rollout);
    if (rollout.knows === 'nothing' && rollout.view !== undefined) {
      aside(rollout, 'it is not known which updates run', learnRunning(rollout));
    }
    rememberStart(rollout);
    if (seemsCancelled(rollout)) forgetCancellation(rollout);
    decide(rollout);
    setCurrentDetails(rolloutDetails(progressOf(rollout)));
    if (isCompleted(rollout) && rollout.changes === seen) {
      const isForgotten = await forgetStart(rollout);
      if (isForgotten) await lastWords(rollout);
      if (rollout.changes === seen) return finish(rollout);
      // Heard at the last moment: another config, or a node that is not done after all.
      if (isForgotten) continue;
    }
    if (workflowInfo().continueAsNewSuggested) await handOver(rollout);
    else rollout.saysNothingNew = false;
    await waitForNews(rollout, seen);
  }
}

/** One look at the pool. A look that fails changes nothing, and the rollout says why it waits. */
async function look(rollout: Rollout): Promise<void> {
  const { pool } = rollout;
  const inFlight = [...rollout.children.keys(), ...rollout.deferred.keys()];
  const inService = rollout.seenSince();
  const remembered = rollout.remembered();
  const waiting = waitingInStandstill(rollout);
  const question = {
    ...{ pool, inFlight, retry: [...rollout.retry], limit: candidatesWanted(rollout) },
    ...rollout.pictureAge.ofNextLook(),
    ...(waiting.length === 0 ? {} : { waiting }),
    ...(remembered.length === 0 ? {} : { remembered }),
    ...(inService.length === 0 ? {} : { inService }),
  };
  let found;
  try {
    found = await selectNodes(question);
  } catch (error) {
    if (isCancellation(error)) throw error;
    const failure = explain(error);
    rollout.lookFailed(sentence(failure), failure.name === 'WatchBehind');
    return;
  }
  if (!found.exists) throw await poolIsGone(rollout);
  if (rollout.accept(found, inService)) {
    upsertSearchAttributes([
      { key: SEARCH_ATTRIBUTE.pool, value: pool },
      { key: SEARCH_ATTRIBUTE.config, value: rollout.config },
    ]);
  }
  for (const departed of found.departed ?? []) endUpdateOf(rollout, departed);
  meetReturned(rollout, found.returned);
}

/** Everything here is synchronous: no message can come in between a decision and its record. */
function decide(rollout: Rollout): void {
  const { view, config } = rollout;
  if (view === undefined) return;
  for (const node of rollout.toHold) hold(rollout, node);
  for (const { node } of outdated(rollout)) {
    cancelUpdate(rollout, node, { why: 'retarget', reason: `the pool is rolled to ${config} now` });
  }
  if (isTurnOfDeferred(rollout)) {
    rollout.deferred.clear();
    rollout.touch();
  }
  meetHalfDone(rollout);
  // Slots first: who got one makes room for the next to be prepared.
  for (const node of toGrant(rollout)) grantSlot(rollout, view, node);
  for (const candidate of toStart(rollout)) void startUpdate(rollout, view, candidate);
  const { start, grant } = toFinish(rollout);
  for (const node of grant) grantSlot(rollout, view, node);
  for (const candidate of start) void startUpdate(rollout, view, candidate);
}

/**
 * Updates that run although this rollout has no memory of them may hold slots, so none is given
 * before they are known. Meanwhile nodes may be prepared: that disturbs none.
 */
async function learnRunning(rollout: Rollout): Promise<void> {
  rollout.knows = 'asking';
  while (rollout.knows === 'asking' && rollout.ending === undefined) {
    try {
      const running = await findRunningUpdates([], rollout.pool);
      await untilStartsAreKnown(rollout, running);
      for (const node of running) if (!rollout.children.has(node)) adoptUpdate(rollout, node);
      rollout.learned();
      forgetCancellation(rollout);
    } catch (error) {
      if (isCancellation(error)) return;
      rollout.learned(sentence(explain(error)));
      await sleep(ASK_AGAIN, { summary: 'asking again which updates run' });
    }
  }
}

/** One of those that run may be about to be started once more: only the refusal of that says that it holds a slot. */
async function untilStartsAreKnown(rollout: Rollout, running: readonly string[]): Promise<void> {
  const isStarting = () => running.some((node) => rollout.starting.has(node));
  if (isStarting()) await condition(() => !isStarting());
}

async function waitForNews(rollout: Rollout, seen: number): Promise<void> {
  const { state, blocker = 'waiting for reports of the node updates' } = progressOf(rollout);
  const summary = brief(`${state}: ${blocker}`);
  const heard = await condition(() => rollout.changes !== seen, patience(rollout), { summary });
  rollout.expire();
  checkUpdates(rollout, heard);
}

function patience(rollout: Rollout): number {
  if (rollout.isViewBehind()) return BEHIND_MS;
  const { children, viewProblem, lastNews } = rollout;
  if (viewProblem !== undefined) return UNSEEN_MS;
  const awake = children.size > 0 || Date.now() - lastNews < IDLE_MS;
  const usual = awake ? SILENCE_MS : IDLE_MS;
  return Math.min(usual, rollout.expiresInMs() ?? usual, checkInMs(rollout) ?? usual);
}

/** What is under way when all is done may still bring news. */
async function lastWords(rollout: Rollout): Promise<void> {
  await condition(() => isQuiet(rollout), CLOSING_MS, { summary: 'all is done' });
  await condition(allHandlersFinished);
}

function finish(rollout: Rollout): RolloutProgress {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.outcome, value: 'completed' }]);
  return progressOf(rollout);
}

async function cancelRollout(rollout: Rollout): Promise<void> {
  // What a person cancels before the first look has a name, too.
  if (rollout.config === '') await look(rollout);
  const { config } = rollout;
  // Where no look can tell, the pool itself knows it, and may have another one when all updates have ended.
  const marked = config === '' ? rememberCancellation(rollout) : undefined;
  await windDown(rollout, 'it was cancelled');
  if (config !== '' || marked !== undefined) {
    rollout.writing = 'its pool to remember that it was cancelled';
    setCurrentDetails(rolloutDetails(progressOf(rollout)));
    await (marked ?? rememberCancellation(rollout));
  }
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.outcome, value: 'cancelled' }]);
}

async function poolIsGone(rollout: Rollout): Promise<Error> {
  const { pool, view } = rollout;
  if (view === undefined && rollout.children.size === 0) {
    return refuse('ObjectNotFound', `machineconfigpool ${pool} does not exist; correct the name`);
  }
  await windDown(rollout, `pool ${pool} was deleted`);
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.outcome, value: 'failed' }]);
  return refuse('ObjectNotFound', `machineconfigpool ${pool} was deleted during its rollout`);
}

/** Takes every node back that can be, and waits for all. */
async function windDown(rollout: Rollout, reason: string): Promise<void> {
  rollout.ending = reason;
  if (rollout.knows !== 'all') await meetRunning(rollout);
  const held = new Set<string>();
  const looks = { isOut: false };
  for (;;) {
    const seen = rollout.changes;
    for (const { node, cancelling } of rollout.children.values()) {
      if (cancelling === undefined) cancelUpdate(rollout, node, { why: 'rollout', reason });
    }
    for (const node of rollout.toHold) {
      // Once each: what cannot be written now keeps no rollout from its end.
      if (held.has(node)) continue;
      held.add(node);
      hold(rollout, node);
    }
    setCurrentDetails(rolloutDetails(progressOf(rollout)));
    if (isWoundDown(rollout)) break;
    void endUpdatesOfDeleted(rollout, looks);
    rollout.expire();
    const { blocker = 'node updates to end' } = progressOf(rollout);
    const summary = brief(`ending, because ${reason}: ${blocker}`);
    const heard = await condition(
      () => rollout.changes !== seen || isWoundDown(rollout),
      Math.min(checkInMs(rollout) ?? SILENCE_MS, rollout.expiresInMs() ?? SILENCE_MS),
      { summary },
    );
    checkUpdates(rollout, heard);
  }
  await condition(allHandlersFinished);
}

function isWoundDown(rollout: Rollout): boolean {
  return !rollout.isSaying && rollout.children.size === 0;
}

/** Updates that a rollout before this one has left running end with the pool's rollout, too. */
async function meetRunning(rollout: Rollout): Promise<void> {
  rollout.writing = 'Temporal to say which updates of an earlier rollout still run';
  try {
    const running = await findRunningUpdates([], rollout.pool, STILL_RUNNING);
    for (const node of running) if (!rollout.children.has(node)) adoptUpdate(rollout, node);
    rollout.learned();
  } catch (error) {
    log.warn('updates of an earlier rollout may go on', { error });
  } finally {
    rollout.writing = undefined;
  }
}

/** Of a Node that is gone nothing is taken back. The look keeps nobody waiting: whoever ends meanwhile has ended. */
async function endUpdatesOfDeleted(rollout: Rollout, looks: { isOut: boolean }): Promise<void> {
  const { pool, children, changes } = rollout;
  if (looks.isOut || children.size === 0) return;
  looks.isOut = true;
  try {
    const inFlight = [...children.keys()];
    const remembered = rollout.remembered();
    const question = { pool, inFlight, remembered, retry: [], limit: 0, ...rollout.age() };
    const { departed = [] } = await selectNodes(question);
    for (const one of departed) if (one.deleted) endUpdateOf(rollout, one);
  } catch (error) {
    if (!isCancellation(error)) log.warn('not known which nodes are gone', { pool, error });
  }
  looks.isOut = false;
  // One that went while the others were looked at is found by the next look.
  if (rollout.changes !== changes) rollout.touch();
}

function refuseWrongStart(input: Partial<PoolRolloutInput> | undefined): void {
  const { workflowId } = workflowInfo();
  const pool = input?.pool;
  if (typeof pool !== 'string' || pool === '') {
    throw refuse('RefusedRequest', 'name the pool in the input: {"pool": "worker"}');
  }
  const right = poolRolloutId(pool);
  if (workflowId !== right) {
    throw refuse(
      'WrongWorkflowId',
      `the rollout of pool ${pool} runs as ${right}, not as ${workflowId}: start it with that ` +
        'workflow ID, so that a pool never has two',
    );
  }
}
