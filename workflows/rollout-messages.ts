/**
 * What a rollout answers, and what it refuses with a sentence. Validators see only what the
 * rollout knows; what needs the cluster is checked by the handler.
 */

import { condition, patched, setHandler } from '@temporalio/workflow';
import type { ApplicationFailure } from '@temporalio/workflow';
import { oneLine } from '../core/encoding/one-line';
import { isRenderedNameOf } from '../core/names';
import type { NamedReason } from '../core/rollout/index';
import type { PoolLook } from './activity-contracts';
import { explain, refuse, sentence } from './failures';
import { failedReasons, heldReasons } from './left-out-nodes';
import {
  cancelNodeUpdate,
  clusterChangedSignal,
  nodeFinishedSignal,
  pauseUpdate,
  preparedSignal,
  progressQuery,
  resumeUpdate,
  retargetUpdate,
  retryNodeUpdate,
  skipNodeUpdate,
  type NodeReport,
  type NodeRequest,
  type Prepared,
  type Reason,
  type RolloutAnswer,
} from './messages';
import { cancelUpdate, holdNode, selectNodes, setPoolPaused } from './pool-steps';
import { answerOf, progressOf } from './rollout-progress';
import type { Rollout } from './rollout-state';
import { hear, readNodeReport, readPrepared } from './signal-payloads';
import { ROLLOUT_LIMITS } from './timeouts';

/** Rollouts that were begun before it forget a retry with the report of an update that ran already. */
const RETRY_OUTLIVES = 'retry-outlives-update-before';

/** Rollouts that were begun before it take what an update says after its report for the word of one that runs. */
const REPORT_IS_LAST = 'report-is-last-word';

/** Rollouts that were begun before it release a node while its hold is being written. */
const HOLD_ENDS_FIRST = 'hold-ends-before-release';
/** Rollouts that were begun before it try a node whose hold they do not see, and leave the mark on it. */
const RELEASED_IN_ANY_CASE = 'retry-releases-in-any-case';
/** Rollouts that were begun before it ask for no node among those that are blocked beyond the list. */
const BLOCKED_ASKED_FOR = 'retry-asks-for-blocked-nodes';
/** Rollouts that were begun before it did not know what reports say since: they decide without it. */
const REPORTS_SAY_MORE = 'reports-say-left-at-and-stopped';

/** As much of a wrong name as a sentence repeats. */
const SHOWN_OF_A_NAME = 100;

/** Registers every message. Called before the first wait, so that none is missed. */
export function answerRolloutMessages(rollout: Rollout): void {
  setHandler(progressQuery, () => progressOf(rollout), {
    description: 'State of the rollout: counts, slots, nodes under way, what it waits for',
  });
  hearUpdates(rollout);
  answerPause(rollout);
  answerNodeRequests(rollout);
  setHandler(
    retargetUpdate,
    ({ config }) => {
      rollout.expect(config);
      return answerOf(rollout);
    },
    {
      description: 'Look at the configuration of the pool now. Example: {"config": "rendered-…"}',
      validator: (request: { readonly config?: string } | undefined) => {
        refuseWhileEnding(rollout);
        const config = request?.config;
        if (isBlank(config)) throw nonsense('name the config: {"config": "rendered-…"}');
        if (!isRenderedNameOf(rollout.pool, config)) throw notRendered(rollout, config);
      },
    },
  );
}

function hearUpdates(rollout: Rollout): void {
  hear(
    nodeFinishedSignal,
    readNodeReport,
    (report) => hearReport(rollout, report),
    'From a node update: how it ended',
  );
  hear(
    preparedSignal,
    readPrepared,
    (prepared) => hearPrepared(rollout, prepared),
    'From a node update: it is ready for its slot',
  );
  // Reads nothing of its payload, so none is malformed.
  setHandler(clusterChangedSignal, () => rollout.touch(), {
    description: 'Something in the pool changed: look again',
  });
}

/** An update that is asked where it stands while it reports its end answers both at once. */
function hearPrepared(rollout: Rollout, prepared: Prepared): void {
  if (rollout.hasReported(prepared.node) && patched(REPORT_IS_LAST)) return;
  rollout.prepared(prepared);
}

function hearReport(rollout: Rollout, report: NodeReport): void {
  const isStillAsked = rollout.isToBeTriedAfter(report) && patched(RETRY_OUTLIVES);
  const { leftAt, stoppedByRollout, ...others } = report;
  const saysMore = leftAt !== undefined || stoppedByRollout !== undefined;
  rollout.finished(saysMore && !patched(REPORTS_SAY_MORE) ? others : report);
  if (isStillAsked) rollout.tryAgain(report.node);
}

function answerPause(rollout: Rollout): void {
  setHandler(pauseUpdate, (request) => changePause(rollout, true, reasonOf(request, 'paused')), {
    description:
      'Start no more nodes; nodes under way finish. Example: {"reason": "change freeze"}',
    validator: (request: Partial<Reason> | undefined) => {
      refuseWhileEnding(rollout);
      if (isBlank(request?.reason)) {
        throw nonsense('say why: {"reason": "change freeze"}');
      }
      const { paused, reason } = rollout.paused();
      if (paused) throw nonsense(`pool ${rollout.pool} is already paused${because(reason)}`);
    },
  });
  setHandler(resumeUpdate, (request) => changePause(rollout, false, reasonOf(request, 'resumed')), {
    description: 'Go on after a pause. Example: {"reason": "freeze is over"}, or {}',
    validator: (_request) => {
      refuseWhileEnding(rollout);
      // Before its first look it does not know; the pool itself then says whether there is a pause to end.
      if (rollout.view === undefined) return;
      if (!rollout.paused().paused) throw nonsense(`pool ${rollout.pool} is not paused`);
    },
  });
}

function answerNodeRequests(rollout: Rollout): void {
  setHandler(retryNodeUpdate, (request) => retryNode(rollout, request.node), {
    description: 'Try a failed, skipped or cancelled node again. Example: {"node": "worker-3"}',
    validator: (request: NodeRequest | undefined) => {
      const node = nodeOf(request);
      refuseRetryNow(rollout, node);
      if (!knowsAll(rollout)) return;
      if (!isToBeRetried(rollout, node)) throw nothingToRetry(rollout, node);
    },
  });
  setHandler(skipNodeUpdate, (request) => skipNode(rollout, request), {
    description:
      'Leave a node out of this config until it is retried; a running update is taken back. ' +
      'Example: {"node": "worker-3", "reason": "hardware fault"}',
    validator: (request: NodeRequest | undefined) => {
      refuseWhileEnding(rollout);
      const node = nodeOf(request);
      const held = heldReasons(rollout).find((known) => known.node === node);
      if (held !== undefined) throw nonsense(`${node} is already held${because(held.reason)}`);
      if (namesAllOpen(rollout) && !isOpen(rollout, node)) throw nothingToSkip(rollout, node);
    },
  });
  setHandler(cancelNodeUpdate, (request) => cancelNode(rollout, request), {
    description:
      'Stop the running update of a node, take the node back and hold it until it is retried. ' +
      'Example: {"node": "worker-3", "reason": "wrong window"}',
    validator: (request: NodeRequest | undefined) => {
      refuseWhileEnding(rollout);
      const node = nodeOf(request);
      const child = rollout.children.get(node);
      if (child === undefined) {
        throw nonsense(
          `${node} has no running update; skip it (slipway node skip ${node}) to leave it out`,
        );
      }
      if (child.cancelling !== undefined) {
        throw nonsense(`the update of ${node} is being stopped already`);
      }
    },
  });
}

/** Acts at once, then writes it on the pool, which is where it is remembered. */
async function changePause(
  rollout: Rollout,
  paused: boolean,
  reason: string,
): Promise<RolloutAnswer> {
  const ends = paused ? undefined : pauseToEnd(rollout);
  rollout.wishPaused(paused, reason, ROLLOUT_LIMITS.setPoolPaused.total * 1000);
  try {
    await setPoolPaused(rollout.pool, paused, reason, ends);
    rollout.wishPaused(paused, reason);
  } catch (error) {
    rollout.forgetPauseWish();
    throw failed(`${paused ? 'pause' : 'resume'} pool ${rollout.pool}`, error);
  }
  return answerOf(rollout);
}

/** The pause that the person saw; undefined = whichever there is, because none was seen yet. */
function pauseToEnd(rollout: Rollout): { readonly reason?: string } | undefined {
  const { paused, reason } = rollout.paused();
  if (!paused) return undefined;
  return reason === undefined ? {} : { reason };
}

async function retryNode(rollout: Rollout, node: string): Promise<RolloutAnswer> {
  if (!isToBeRetried(rollout, node)) await findToBeRetried(rollout, node);
  const isHeld = heldReasons(rollout).some((known) => known.node === node);
  // What is being written comes to its end first: it would be written over the word of the person.
  if (rollout.holding.has(node) && patched(HOLD_ENDS_FIRST)) {
    await condition(() => !rollout.holding.has(node));
  }
  rollout.toHold.delete(node);
  // Also a hold that no look has shown: an update is refused on the mark.
  if (isHeld || patched(RELEASED_IN_ANY_CASE)) await changeHold(rollout, node, undefined);
  rollout.tryAgain(node);
  return answerOf(rollout);
}

async function skipNode(rollout: Rollout, request: NodeRequest): Promise<RolloutAnswer> {
  const { node } = request;
  if (!rollout.children.has(node)) await refuseUnknown(rollout, node);
  return holdAndStop(rollout, node, `skipped: ${reasonOf(request, 'no reason given')}`);
}

async function cancelNode(rollout: Rollout, request: NodeRequest): Promise<RolloutAnswer> {
  const reason = `cancelled: ${reasonOf(request, 'no reason given')}`;
  return holdAndStop(rollout, request.node, reason);
}

/** Holds first: a node that was stopped must not be started again at once. */
async function holdAndStop(rollout: Rollout, node: string, reason: string): Promise<RolloutAnswer> {
  rollout.retry.delete(node);
  rollout.heldByUs.set(node, reason);
  rollout.touch();
  try {
    await changeHold(rollout, node, reason);
  } catch (error) {
    rollout.heldByUs.delete(node);
    throw error;
  }
  const child = rollout.children.get(node);
  if (child !== undefined && child.cancelling === undefined) {
    cancelUpdate(rollout, node, { why: 'operator', reason });
  }
  return answerOf(rollout);
}

async function changeHold(
  rollout: Rollout,
  node: string,
  reason: string | undefined,
): Promise<void> {
  try {
    await holdNode(rollout, node, reason);
  } catch (error) {
    throw failed(`${reason === undefined ? 'release' : 'hold'} node ${node}`, error);
  }
}

/** The rollout remembers only nodes that matter now, so the whole pool is asked for a name. */
async function refuseUnknown(rollout: Rollout, node: string): Promise<void> {
  const { pool } = rollout;
  const question = { pool, inFlight: [], retry: [], limit: 1, asked: node };
  const view = await selectNodes({ ...question, ...rollout.age() });
  if (!view.exists) throw refuse('ObjectNotFound', `pool ${pool} does not exist`);
  const named = [...view.candidates, ...view.failed, ...view.held, ...view.blocked];
  if (named.some((known) => known.node === node)) return;
  throw nothingToSkip(rollout, node);
}

function nothingToSkip({ pool, config }: Rollout, node: string): ApplicationFailure {
  return nonsense(
    `${node} has nothing to skip: it is not a node of pool ${pool}, or is on ${config} already`,
  );
}

/** Whether the last look is good and names every node that is not on the config. */
function namesAllOpen(rollout: Rollout): boolean {
  const { view, viewProblem } = rollout;
  if (view === undefined || viewProblem !== undefined || rollout.isViewBehind()) return false;
  return view.candidateCount <= view.candidates.length && knowsAll(rollout);
}

function isOpen(rollout: Rollout, node: string): boolean {
  const { view, children, retry } = rollout;
  if (children.has(node) || retry.has(node) || isToBeRetried(rollout, node)) return true;
  return [...(view?.candidates ?? []), ...(view?.blocked ?? [])].some(
    (known) => known.node === node,
  );
}

function refuseRetryNow(rollout: Rollout, node: string): void {
  refuseWhileEnding(rollout);
  if (rollout.children.has(node)) throw nonsense(`the update of ${node} is running already`);
  if (rollout.retry.has(node)) throw nonsense(`${node} is about to be tried again already`);
}

function isToBeRetried(rollout: Rollout, node: string): boolean {
  return rollout.deferred.has(node) || isNamed(triable(rollout), node);
}

function triable(rollout: Rollout): readonly NamedReason[] {
  return [...failedReasons(rollout), ...heldReasons(rollout), ...downUnknown(rollout.view)];
}

function triedWhenTold(view: PoolLook): readonly NamedReason[] {
  return [...view.failed, ...view.held, ...downUnknown(view)];
}

/** Not Ready, and nobody knows what they are on. */
function downUnknown(view: PoolLook | undefined): readonly NamedReason[] {
  return view?.blocked.filter(({ isTriedWhenTold }) => isTriedWhenTold === true) ?? [];
}

/** Before its first look a rollout knows no node, and of a large pool it knows only some by name. */
function knowsAll(rollout: Rollout): boolean {
  return knowsLeftOut(rollout) && knowsBlocked(rollout);
}

function knowsLeftOut({ view }: Rollout): boolean {
  if (view === undefined) return false;
  return view.failedCount <= view.failed.length && view.heldCount <= view.held.length;
}

function knowsBlocked({ view }: Rollout): boolean {
  return view !== undefined && view.blockedCount <= view.blocked.length;
}

/** Waits for the first look, then asks for the names beyond the list. */
async function findToBeRetried(rollout: Rollout, node: string): Promise<void> {
  await condition(() => rollout.view !== undefined || rollout.ending !== undefined);
  const { pool } = rollout;
  let found = isToBeRetried(rollout, node);
  const isUnnamed =
    !knowsLeftOut(rollout) || (!knowsBlocked(rollout) && patched(BLOCKED_ASKED_FOR));
  if (!found && isUnnamed) {
    const question = { pool, inFlight: [], retry: [], limit: 0, asked: node };
    const view = await selectNodes({ ...question, ...rollout.age() });
    found = view.exists && isNamed(triedWhenTold(view), node);
  }
  // Meanwhile its update may have been started, or the same may have been asked.
  refuseRetryNow(rollout, node);
  if (!found) throw nothingToRetry(rollout, node);
}

function isNamed(reasons: readonly NamedReason[], node: string): boolean {
  return reasons.some((reason) => reason.node === node);
}

function nothingToRetry(rollout: Rollout, node: string): ApplicationFailure {
  const known = triable(rollout);
  return nonsense(
    `${node} is neither failed nor held on ${rollout.config || 'any config'}; ` +
      `${known.length === 0 ? 'no node is' : `these are: ${listed(known)}`}`,
  );
}

function refuseWhileEnding({ ending, pool }: Rollout): void {
  if (ending !== undefined) throw nonsense(`the rollout of pool ${pool} is ending: ${ending}`);
}

function nodeOf(request: NodeRequest | undefined): string {
  const node = request?.node;
  if (isBlank(node)) throw nonsense('name the node: {"node": "worker-3"}');
  return node;
}

/** The Temporal UI sends whatever a person typed, or nothing. */
function isBlank(text: unknown): text is undefined {
  return typeof text !== 'string' || oneLine(text) === '';
}

function reasonOf(request: Partial<Reason> | undefined, otherwise: string): string {
  const reason = isBlank(request?.reason) ? otherwise : oneLine(request.reason);
  return isBlank(request?.by) ? reason : `${reason} (${oneLine(request.by)})`;
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`;
}

function listed(nodes: readonly { readonly node: string }[]): string {
  const names = nodes.map(({ node }) => node);
  const more = names.length - 5;
  return `${names.slice(0, 5).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function notRendered({ pool }: Rollout, config: string): ApplicationFailure {
  return nonsense(
    `${config.slice(0, SHOWN_OF_A_NAME)} is not a rendered config of pool ${pool}: ` +
      `name one that is called rendered-${pool}-<hash>`,
  );
}

function nonsense(message: string): ApplicationFailure {
  return refuse('RefusedRequest', message);
}

function failed(what: string, error: unknown): ApplicationFailure {
  const failure = explain(error);
  return refuse(failure.name ?? 'RefusedRequest', `${what}: ${sentence(failure)}`);
}
