/**
 * What people ask of a rollout for one node: to try it again, to leave it out, to stop its update. Validators
 * see only what the rollout knows; what needs the cluster is checked by the handler.
 */

import { condition, setHandler } from '@temporalio/workflow';
import type { ApplicationFailure } from '@temporalio/workflow';
import { fewNames } from '../core/few';
import type { NamedReason } from '../core/rollout/index';
import type { PoolLook } from './contracts/cluster';
import { type AcceptedWord, inASentence } from './accepted-words';
import { isBeforeFirstLook, refuseWithoutConfig, untilFirstLook } from './before-first-look';
import { isCancellation, refuse } from './contracts/failures';
import { failedReasons, hasGivenBackFailed, heldReasons } from './left-out-nodes';
import {
  cancelNodeUpdate,
  retryNodeUpdate,
  skipNodeUpdate,
  type NodeRequest,
  type RolloutAnswer,
} from './messages';
import { cancelUpdate, holdNode, selectNodes } from './pool-steps';
import { because, failed, isBlank, nonsense, reasonOf, refuseWhileEnding } from './requests';
import { answerOf } from './rollout-progress';
import type { Rollout } from './rollout-state';

export function answerNodeRequests(rollout: Rollout): void {
  const { words } = rollout;
  const retry = ({ node }: NodeRequest) =>
    words.accept(node, 'retry', (word) => retryNode(rollout, word, node));
  setHandler(retryNodeUpdate, retry, {
    description: 'Try a failed, skipped or cancelled node again. Example: {"node": "worker-3"}',
    validator: (request: NodeRequest | undefined) => {
      const node = nodeOf(request);
      refuseRetryNow(rollout, node);
      refuseWithoutConfig(rollout);
      const said = words.last(node);
      if (said === 'retry') throw retriedAlready(node);
      // Of what is being held it is known that it will be.
      if (said === 'hold' || !knowsAll(rollout)) return;
      if (!isToBeRetried(rollout, node)) throw nothingToRetry(rollout, node);
    },
  });
  const skip = (request: NodeRequest) =>
    words.accept(request.node, 'hold', (word) => skipNode(rollout, word, request));
  setHandler(skipNodeUpdate, skip, {
    description:
      'Leave a node out of this config until it is retried; a running update is taken back. ' +
      'Example: {"node": "worker-3", "reason": "hardware fault"}',
    validator: (request: NodeRequest | undefined) => {
      refuseWhileEnding(rollout);
      const node = nodeOf(request);
      refuseWithoutConfig(rollout);
      const said = words.last(node);
      if (said === 'retry') return;
      if (said === 'hold') throw nonsense(`${node} is being held already`);
      const held = heldReasons(rollout).find((known) => known.node === node);
      if (held !== undefined) throw nonsense(`${node} is already held${because(held.reason)}`);
      if (namesAllOpen(rollout) && !isOpen(rollout, node)) throw nothingToSkip(rollout, node);
    },
  });
  const cancel = (request: NodeRequest) =>
    words.accept(request.node, 'hold', (word) => cancelNode(rollout, word, request));
  setHandler(cancelNodeUpdate, cancel, {
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
      if (child.cancelling !== undefined || words.last(node) === 'hold') {
        throw nonsense(`the update of ${node} is being stopped already`);
      }
      refuseWithoutConfig(rollout);
    },
  });
}

async function retryNode(
  rollout: Rollout,
  word: AcceptedWord,
  node: string,
): Promise<RolloutAnswer> {
  // One that began meanwhile would not be the try that was asked for, and that would follow it.
  word.countsNow = true;
  try {
    if (isBeforeFirstLook(rollout)) await untilFirstLook(rollout, word);
    if (word.waits) await word.turn();
    const hadFailed = !isToBeRetried(rollout, node) && (await findToBeRetried(rollout, node));
    // What is being written comes to its end first: it would be written over the word of the person.
    if (rollout.holding.has(node)) {
      try {
        await condition(() => !rollout.holding.has(node));
      } catch (error) {
        throw inASentence(error);
      }
    }
    // It would be written over the word of the person.
    const isToHold = rollout.toHold.delete(node);
    try {
      // Also a hold that no look has shown: an update is refused on the mark.
      await changeHold(rollout, node, undefined);
    } catch (error) {
      if (isToHold && rollout.heldByUs.has(node)) {
        rollout.toHold.add(node);
        rollout.touch();
      }
      throw error;
    }
    rollout.tryAgain(node, hadFailed);
    return answerOf(rollout);
  } catch (error) {
    // Nothing keeps it back any more.
    rollout.touch();
    throw error;
  }
}

async function skipNode(
  rollout: Rollout,
  word: AcceptedWord,
  request: NodeRequest,
): Promise<RolloutAnswer> {
  const { node } = request;
  if (isBeforeFirstLook(rollout)) await untilFirstLook(rollout, word);
  if (!rollout.children.has(node)) await refuseUnknown(rollout, word, node);
  return holdAndStop(rollout, word, node, `skipped: ${reasonOf(request, 'no reason given')}`);
}

async function cancelNode(
  rollout: Rollout,
  word: AcceptedWord,
  request: NodeRequest,
): Promise<RolloutAnswer> {
  const { node } = request;
  if (isBeforeFirstLook(rollout)) {
    await untilFirstLook(rollout, word);
    // Its update may have ended meanwhile.
    if (!rollout.children.has(node)) await refuseUnknown(rollout, word, node);
  }
  return holdAndStop(rollout, word, node, `cancelled: ${reasonOf(request, 'no reason given')}`);
}

/** Holds first: a node that was stopped must not be started again at once. */
async function holdAndStop(
  rollout: Rollout,
  word: AcceptedWord,
  node: string,
  reason: string,
): Promise<RolloutAnswer> {
  if (word.waits) await word.turn();
  const before = saidBefore(rollout, node);
  // A retry lets the node go in a halted rollout, and nothing but its update answers it.
  word.countsNow = before.isRetried;
  if (!word.countsNow) rollout.retry.delete(node);
  rollout.heldByUs.set(node, reason);
  rollout.touch();
  try {
    await changeHold(rollout, node, reason);
  } catch (error) {
    letStand(rollout, word, { node, reason, before });
    throw error;
  }
  if (word.countsNow && rollout.config === before.config) {
    rollout.retry.delete(node);
    rollout.heldByUs.set(node, reason);
  }
  const child = rollout.children.get(node);
  if (child !== undefined && child.cancelling === undefined) {
    cancelUpdate(rollout, node, { why: 'operator', reason });
  }
  return answerOf(rollout);
}

interface SaidBefore {
  readonly config: string;
  readonly held: string | undefined;
  readonly isRetried: boolean;
}

function saidBefore({ config, heldByUs, retry }: Rollout, node: string): SaidBefore {
  return { config, held: heldByUs.get(node), isRetried: retry.has(node) };
}

/** The hold could not be written: what was said of the node before stands. */
function letStand(
  rollout: Rollout,
  word: AcceptedWord,
  { node, reason, before }: { node: string; reason: string; before: SaidBefore },
): void {
  const { held, isRetried } = before;
  // Somebody may have cancelled its update in Temporal meanwhile.
  const isOurs = rollout.heldByUs.get(node) === reason;
  if (isOurs) rollout.heldByUs.delete(node);
  // What was said of an earlier config is over with it.
  const isSame = rollout.config === before.config;
  if (held !== undefined && isSame && isOurs) rollout.heldByUs.set(node, held);
  const isLost = isRetried && !word.countsNow;
  if (isLost && !rollout.children.has(node)) rollout.tryAgain(node);
  // It may be started again, and nobody else may have anything to say.
  rollout.touch();
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
async function refuseUnknown(rollout: Rollout, word: AcceptedWord, node: string): Promise<void> {
  const { pool } = rollout;
  const question = { pool, inFlight: [], retry: [], limit: 1, asked: node };
  let view;
  try {
    view = await selectNodes({ ...question, ...rollout.age() });
  } catch (error) {
    // Nothing keeps it back any more.
    if (word.countsNow) rollout.touch();
    throw lookFailed(pool, node, error);
  }
  if (!view.exists) throw refuse('ObjectNotFound', `pool ${pool} does not exist`);
  const named = [...view.candidates, ...view.failed, ...view.held, ...view.blocked];
  if (named.some((known) => known.node === node)) return;
  throw nothingToSkip(rollout, node);
}

function lookFailed(pool: string, node: string, error: unknown): unknown {
  if (isCancellation(error)) return inASentence(error);
  return failed(`look for node ${node} in pool ${pool}`, error);
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
  // One that its Node shows to have failed has but to report it.
  if (rollout.children.has(node) && !hasGivenBackFailed(rollout, node)) {
    throw nonsense(`the update of ${node} is running already`);
  }
  if (rollout.retry.has(node)) throw retriedAlready(node);
}

function retriedAlready(node: string): ApplicationFailure {
  return nonsense(`${node} is about to be tried again already`);
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

/**
 * Waits for the first look, then asks for the names beyond the list.
 *
 * @returns whether it is beyond the list, and counts against the config
 */
async function findToBeRetried(rollout: Rollout, node: string): Promise<boolean> {
  try {
    await condition(() => rollout.view !== undefined || rollout.ending !== undefined);
  } catch (error) {
    throw inASentence(error);
  }
  const { pool } = rollout;
  let found = isToBeRetried(rollout, node);
  let hadFailed = false;
  const isUnnamed = !knowsLeftOut(rollout) || !knowsBlocked(rollout);
  if (!found && isUnnamed) {
    const question = { pool, inFlight: [], retry: [], limit: 0, asked: node };
    let view;
    try {
      view = await selectNodes({ ...question, ...rollout.age() });
    } catch (error) {
      throw lookFailed(pool, node, error);
    }
    found = view.exists && isNamed(triedWhenTold(view), node);
    hadFailed = view.exists && isNamed(view.failed, node) && view.unheard?.includes(node) !== true;
  }
  // Meanwhile its update may have been started, or the same may have been asked.
  refuseRetryNow(rollout, node);
  if (!found) throw nothingToRetry(rollout, node);
  return hadFailed;
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

function nodeOf(request: NodeRequest | undefined): string {
  const node = request?.node;
  if (isBlank(node)) throw nonsense('name the node: {"node": "worker-3"}');
  return node;
}

function listed(nodes: readonly { readonly node: string }[]): string {
  return fewNames(
    nodes.map(({ node }) => node),
    { most: 5 },
  );
}
