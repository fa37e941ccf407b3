/** Compensation of a node update: the node goes back as far as it was disturbed. */

import { CancelledFailure, condition, log } from '@temporalio/workflow';
import { fewNames } from '../core/few';
import type { WrittenNode } from './contracts/cluster';
import { clearAgain } from './cleared-again';
import { complete, keepsReady, noteCommitted } from './completion';
import { explain, isCancellation, sentence, type Failure } from './contracts/failures';
import type { GoneBack } from './contracts/host';
import type { Ending } from './node-progress';
import type { HostSteps } from './node-steps';
import type { NodeUpdate } from './node-update';
import { TOLD_OF_HOLD_SECONDS } from './contracts/timeouts';

/**
 * Takes the host back if anything was applied, removes the cordon if it was ours, and writes the
 * reason on the node. Only a node whose host cannot be taken back stays cordoned, and says why. Never
 * throws: what fails on the way back is part of the ending.
 */
export async function takeBack(update: NodeUpdate, found: unknown): Promise<Ending> {
  const { progress, cluster } = update;
  const phase = progress.phase;
  const error = await orToldOfHold(update, found);
  const gone = goneBecause(update, error);
  if (gone !== undefined) return endGone(update, gone);
  const cause = causeOf(update, error);
  // A node that was never disturbed, or is on its config for good, has nothing to go back from.
  if (update.touched && !update.verified) progress.enter('GoingBack');
  const back = await takeHostBack(update, cause);
  if (back.holds === true) return completeAfterAll(update);
  cluster.hideShown();
  const failure = back.problem ?? withFound(cause.failure, back);
  const outcome = back.problem === undefined ? cause.outcome : 'failed';
  const released = release(update, outcome, failure, back.ok);
  const [written] = await Promise.all([
    released,
    discard(update, failure, isCancellation(error), released),
  ]);
  return {
    outcome,
    failure,
    phase,
    ...(isCancellation(error) && progress.stopReason !== undefined
      ? { stoppedByRollout: true as const }
      : {}),
    ...(failure.name === DRAIN_TIMED_OUT ? { isTriedAgain: isTriedAgain(update, failure) } : {}),
    ...leftHow(written),
    // One that serves all the same was never taken out: it leaves no slot behind.
    ...(back.ok || written?.inService === true ? {} : { hostIsBack: false as const }),
  };
}

/** Its host has committed, and only the answer was lost. */
async function completeAfterAll(update: NodeUpdate): Promise<Ending> {
  try {
    return await complete(update);
  } catch (error) {
    return takeBack(update, error);
  }
}

function leftHow(written: WrittenNode | undefined): Pick<Ending, 'inServiceAt' | 'leftAt'> {
  if (written === undefined) return {};
  const { inService, resourceVersion } = written;
  return inService ? { inServiceAt: resourceVersion } : { leftAt: resourceVersion };
}

/** Nothing is taken back on a node that is gone: whoever comes next to its host settles it. */
export function endGone({ progress, cluster }: NodeUpdate, failure: Failure): Ending {
  cluster.hideShown();
  return { outcome: 'cancelled', failure, phase: progress.phase };
}

/**
 * A person who cancels or skips a node is written on it first, and its update is told a moment later: a step
 * that looks in between is refused, and what the person wanted is a cancellation all the same. Only an update
 * whose rollout is lost is never told.
 */
async function orToldOfHold({ life, progress }: NodeUpdate, found: unknown): Promise<unknown> {
  const { name, reason } = explain(found);
  if (name !== 'HeldByUser' || life.ended !== undefined) return found;
  progress.enter(progress.phase, `${progress.reportTo} to say that a person holds the node`);
  const isOver = () => life.isCancelled || life.ended !== undefined;
  // The end of its Node interrupts the wait, and is asked for next.
  await condition(isOver, TOLD_OF_HOLD_SECONDS * 1000).catch(() => undefined);
  return life.isCancelled ? new CancelledFailure(reason) : found;
}

/** Told by the rollout, or found out by a step that wanted to write the Node. */
function goneBecause({ life }: NodeUpdate, error: unknown): Failure | undefined {
  if (life.ended !== undefined) return life.ended;
  const failure = explain(error);
  return failure.name === 'NodeDeleted' ? life.end(failure.reason) : undefined;
}

/**
 * Gives the node back, unless it is as this update found it and nothing is to be said about it. One
 * that an earlier update left half done says so from now on, if its host has not settled it.
 */
async function release(
  update: NodeUpdate,
  outcome: 'cancelled' | 'failed',
  failure: Failure,
  hostIsBack: boolean,
): Promise<WrittenNode | undefined> {
  const { cluster, touched, applied, progress, hostIsOn } = update;
  if (isLeftAsFound(update, outcome)) return undefined;
  const isTriedLater = isTriedAgain(update, failure);
  progress.enter(progress.phase, 'its Node to be given back');
  try {
    return await cluster.release({
      // A drain that is tried again later is no failure of the node: it stays a candidate.
      outcome: isTriedLater ? 'cancelled' : outcome,
      unreconcilable: failure.name === 'Unreconcilable',
      reason: sentence(failure),
      hostIsBack,
      ...(touched ? {} : { untouched: true }),
      ...(hostIsOn === undefined ? {} : { hostIsOn }),
      ...(hostIsBack && applied && failure.name === 'EarlierUpdateLost'
        ? { isProvenBack: true }
        : {}),
      ...(isTriedLater ? { isTriedLater } : {}),
    });
  } catch (error) {
    log.error('the node was not released', { error });
    return undefined;
  }
}

/** Whoever was never disturbed has nothing to be given back for. */
function isLeftAsFound(update: NodeUpdate, outcome: 'cancelled' | 'failed'): boolean {
  return outcome === 'cancelled' && !update.touched && !isFoundHalfDone(update);
}

/** Whether an earlier update may have left something on the host, and on its Node. */
function isFoundHalfDone({ input: { repair, halfDone } }: NodeUpdate): boolean {
  return repair === true || halfDone === true;
}

interface Cause {
  readonly outcome: 'cancelled' | 'failed';
  readonly failure: Failure;
}

function causeOf(update: NodeUpdate, error: unknown): Cause {
  if (isCancellation(error)) {
    const { stopReason } = update.progress;
    const reason =
      stopReason === undefined
        ? 'the update was cancelled'
        : `its rollout stopped it: ${stopReason}`;
    return { outcome: 'cancelled', failure: { reason } };
  }
  const failure = whyFailed(update, error);
  const isExcused = isNoFailure(failure) || isOutage(update, failure);
  return { outcome: isExcused ? 'cancelled' : 'failed', failure };
}

/** A host that is silent after its proof has failed on its config, and counts for it. */
function whyFailed({ progress, commitOrdered }: NodeUpdate, error: unknown): Failure {
  const failure = explain(error, progress.pastPointOfNoReturn && !commitOrdered);
  const isSilent = commitOrdered && failure.name === 'HostUnreachable';
  return isSilent ? { name: 'VerifyFailed', reason: failure.reason } : failure;
}

/** The node has done nothing wrong with this config: it is updated when a rollout wants it again. */
function isNoFailure({ name }: Failure): boolean {
  return name !== undefined && NO_FAILURES.has(name);
}

/**
 * Whether the cluster was out of reach for longer than a step waits for it, on the way to the reboot: that says nothing
 * of the config. Later, the node is on it, and has to be seen to.
 */
function isOutage({ progress, verified }: NodeUpdate, { name }: Failure): boolean {
  if (name === undefined || !OUTAGES.has(name)) return false;
  return !progress.pastPointOfNoReturn && !verified;
}

/** Of steps in the cluster; those of hosts fail with others. What the API server answers for an hour is no outage. */
const OUTAGES: ReadonlySet<string> = new Set(['ApiUnavailable', 'TemporalUnavailable']);

const DRAIN_TIMED_OUT = 'DrainTimedOut';

const NO_FAILURES: ReadonlySet<string> = new Set([
  'CordonedByUser',
  'EarlierUpdateLost',
  'HeldByUser',
  'NodeMoved',
  'RolloutGone',
  'UpdateSuperseded',
]);

interface HostBack {
  /** The host is known to be in a good state. */
  readonly ok: boolean;
  /** Why it is not, when it should have been taken back. */
  readonly problem?: Failure;
  /** Directories that stay on it, of somebody else. */
  readonly kept?: readonly string[];
  /** Why its machine had gone back by itself. */
  readonly because?: string;
  /** It is on its new config for good, and its node is Ready on it. */
  readonly holds?: true;
}

/**
 * The failure with what came to light on the way back: why the machine had begun it, if nobody has heard that yet; and
 * what it has left, which is nobody's to remove but a person's, who is told where it is.
 */
function withFound(
  { name, reason }: Failure,
  { because, kept = [] }: Pick<HostBack, 'because' | 'kept'>,
): Failure {
  const isNews = because !== undefined && !reason.includes(because);
  const stays = `what somebody else has put into ${fewNames(kept)} stays there`;
  const found = [...(isNews ? [because] : []), ...(kept.length === 0 ? [] : [stays])];
  return { ...(name === undefined ? {} : { name }), reason: [reason, ...found].join('; ') };
}

async function takeHostBack(
  update: NodeUpdate,
  { outcome, failure: cause }: Cause,
): Promise<HostBack> {
  const { host, cluster, progress, verified, applied } = update;
  if (verified) return { ok: true };
  if (!applied) return { ok: await isHostWhole(update, cause) };
  cluster.show('GoingBack', sentence(cause));
  try {
    const asked = update.commitOrdered ? await askCommitted(update) : undefined;
    if (asked?.committed === true) return await stayCommitted(update, cause);
    await clearAgain(update, cause);
    const goingBack = 'the host to go back to its old config';
    // Until its Node says so, the host alone knows of a failure if this update is lost.
    const counts = outcome === 'failed' && !isTriedAgain(update, cause);
    const order = () => host.goBack(counts ? sentence(cause) : undefined);
    const { rebooting, bootId, because } = await progress.during('GoingBack', order, goingBack);
    const returns = 'the machine to come back on its old config';
    progress.enter('GoingBack', rebooting ? returns : 'the host to verify its old config');
    const back = await host.verifyBack(rebooting ? bootId : undefined);
    await awaitReadyAgain(update, rebooting ? back.bootId : undefined);
    const kept = back.kept === undefined ? {} : { kept: back.kept };
    return { ok: true, ...kept, ...(because === undefined ? {} : { because }) };
  } catch (error) {
    const mayBe = update.commitOrdered ? '; it may have committed' : '';
    const reason = `${sentence(cause)}; going back failed: ${sentence(explain(error))}${mayBe}`;
    return { ok: false, problem: { name: 'RollbackFailed', reason } };
  }
}

/** Asked before anything is done for a way back: pods that came late would leave for nothing. */
function askCommitted({ progress, host }: NodeUpdate): Promise<GoneBack> {
  const saying = 'the host to say whether it has committed';
  return progress.during('GoingBack', host.hasCommitted, saying);
}

/** A commit that has begun is final. Its node may have failed on the config all the same, and says so. */
async function stayCommitted(update: NodeUpdate, cause: Failure): Promise<HostBack> {
  noteCommitted(update);
  try {
    await keepsReady(update, 'GoingBack', 'its host has committed, and did not say so');
    return { ok: true, holds: true };
  } catch (error) {
    goneBecause(update, error);
    const { name, reason } = explain(error);
    const stays = `its host has committed ${update.input.config.name}, so it stays on it`;
    const named = name === undefined ? {} : { name };
    return { ok: true, problem: { ...named, reason: `${reason}; ${sentence(cause)}; ${stays}` } };
  }
}

/**
 * Whether an update that has changed nothing leaves nothing half done. A host settles what it finds before it
 * checks the order, so one that refuses the order, or was not waited for, is asked; whoever said that it has not
 * settled, or is out of reach, is not.
 */
async function isHostWhole(update: NodeUpdate, cause: Failure): Promise<boolean> {
  const { settled, tookOver, host, progress } = update;
  if (tookOver) return undoTakenOver(update);
  // A node that was in service and whole when the update began is still as it was.
  if (settled) return true;
  const isAnswered = progress.plan !== undefined;
  // A person may have put the node back into service, whatever its host is like.
  if (!isFoundHalfDone(update)) return !isAnswered;
  if (isAnswered || cause.name === 'HostUnreachable') return false;
  update.discarded = true;
  progress.enter(progress.phase, 'the host to drop what it has staged');
  return leavesNothing(update, host.discardStaged());
}

/**
 * Has the host undo what an earlier update wrote and this one did not go on with. Before the node is given
 * back: until then its disk is not that of the config that it would be said to be on.
 */
async function undoTakenOver(update: NodeUpdate): Promise<boolean> {
  const { host, progress } = update;
  progress.enter(progress.phase, 'the host to undo what it had taken over from an earlier update');
  return leavesNothing(update, host.undoTakenOver());
}

async function leavesNothing(
  update: NodeUpdate,
  discarding: ReturnType<HostSteps['discardStaged']>,
): Promise<boolean> {
  try {
    const discarded = await discarding;
    update.hostIsOn = discarded.currentConfig ?? update.hostIsOn;
    return discarded.unsettled !== true;
  } catch (error) {
    log.warn('what an earlier update wrote may be on the host yet', { error });
    return false;
  }
}

/** The host is back, so the cordon goes in any case; whether the node serves the release sees. */
async function awaitReadyAgain(update: NodeUpdate, bootId: string | undefined): Promise<void> {
  const { cluster, input, progress } = update;
  progress.enter('GoingBack', 'the node to be Ready on its old config');
  try {
    await cluster.awaitReady(bootId, bootId === undefined ? 0 : input.policy.readySeconds);
  } catch (error) {
    log.warn('the node is back on its old config, but not Ready', { error });
  }
}

/**
 * Drops the staged deployment, unless it was booted or the host is out of reach. A host that is still
 * preparing hears of the cancellation late, or after it has staged everything: it is told to drop it, too.
 */
async function discard(
  update: NodeUpdate,
  failure: Failure,
  isCancelled: boolean,
  released: Promise<unknown>,
): Promise<void> {
  const { preparing, settled, tookOver, discarded, verified, host, progress } = update;
  // It was asked for it on the way back.
  if (tookOver || discarded) return;
  const isUnanswered = preparing && isCancelled;
  if (!(settled || isUnanswered) || verified || progress.pastPointOfNoReturn) return;
  if (failure.name === 'HostUnreachable' || failure.name === 'RollbackFailed') return;
  let isDropping = true;
  // A Node that is to be given back is waited for more.
  void released.then(() => {
    if (isDropping) progress.enter(progress.phase, 'the host to drop what it has staged');
  });
  try {
    await host.discardStaged();
  } catch (error) {
    log.warn('what was staged stays on the host', { error });
  }
  isDropping = false;
}

function isTriedAgain({ input }: NodeUpdate, failure: Failure): boolean {
  return failure.name === DRAIN_TIMED_OUT && input.policy.drain.onTimeout === 'RetryLater';
}
