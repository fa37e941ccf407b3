/** Compensation of a node update: the node goes back as far as it was disturbed. */

import { log } from '@temporalio/workflow';
import { fewNames } from '../../core/few';
import { clearAgain } from './cleared-again';
import { complete, keepsReady, noteCommitted } from './completion';
import { explain, isCancellation, sentence, type Failure } from '../contracts/failures';
import type { GoneBack } from '../contracts/host';
import type { Ending } from './progress';
import type { HostSteps } from './steps';
import type { NodeUpdate } from './update';

/**
 * Takes the host back if anything was applied, removes the cordon if it was ours, and writes the
 * reason on the node. Only a node whose host cannot be taken back stays cordoned, and says why. Never
 * throws: what fails on the way back is part of the ending.
 */
export async function takeBack(update: NodeUpdate, error: unknown): Promise<Ending> {
  const { progress, cluster } = update;
  const phase = progress.phase;
  const gone = goneBecause(update, error);
  if (gone !== undefined) return endGone(update, gone);
  const cause = causeOf(update, error);
  // A node that was never disturbed, or is on its config for good, has nothing to go back from.
  if (update.takenOut && !update.verified) progress.enter('GoingBack');
  const back = await takeHostBack(update, cause);
  if (back.holds === true) return completeAfterAll(update);
  cluster.hideShown();
  const failure = back.problem ?? withFound(cause.failure, back);
  const outcome = back.problem === undefined ? cause.outcome : 'failed';
  const released = release(update, outcome, failure, back.ok);
  await Promise.all([released, discard(update, failure, isCancellation(error), released)]);
  return { outcome, failure, phase };
}

/** Its host has committed, and only the answer was lost. */
async function completeAfterAll(update: NodeUpdate): Promise<Ending> {
  try {
    return await complete(update);
  } catch (error) {
    return takeBack(update, error);
  }
}

/** Nothing is taken back on a node that is gone: whoever comes next to its host settles it. */
export function endGone({ progress, cluster }: NodeUpdate, failure: Failure): Ending {
  cluster.hideShown();
  return { outcome: 'cancelled', failure, phase: progress.phase };
}

/** Known since the update was cancelled, or found out by a step that wanted to write the Node. */
function goneBecause({ life }: NodeUpdate, error: unknown): Failure | undefined {
  if (life.ended !== undefined) return life.ended;
  const failure = explain(error);
  return failure.name === 'NodeDeleted' ? life.end(failure.reason) : undefined;
}

/**
 * Gives the node back, and says that the run is over. One that an earlier update left half done says so from
 * now on, if its host has not settled it.
 */
async function release(
  update: NodeUpdate,
  outcome: 'cancelled' | 'failed',
  failure: Failure,
  hostIsBack: boolean,
): Promise<void> {
  const { cluster, applied, progress, hostIsOn, life, input } = update;
  const isTriedLater = isTriedAgain(update, failure);
  progress.enter(progress.phase, 'its Node to be given back');
  try {
    await cluster.release({
      // A drain that is tried again later is no failure of the node: it stays a candidate.
      outcome: isTriedLater ? 'cancelled' : outcome,
      unreconcilable: failure.name === 'Unreconcilable',
      reason: sentence(failure),
      hostIsBack,
      ...(hostIsOn === undefined ? {} : { hostIsOn }),
      ...(hostIsBack && applied && failure.name === 'EarlierUpdateLost'
        ? { isProvenBack: true }
        : {}),
      ...(isTriedLater ? { isTriedLater } : {}),
      ...(life.cancelled?.holds === true && input.takesBack !== true ? { holds: true } : {}),
    });
  } catch (error) {
    log.error('the node was not released', { error });
  }
}

/** Whether an earlier update may have left something on the host, and on its Node. */
function isFoundHalfDone({ input: { found } }: NodeUpdate): boolean {
  return found !== 'whole';
}

interface Cause {
  readonly outcome: 'cancelled' | 'failed';
  readonly failure: Failure;
}

function causeOf(update: NodeUpdate, error: unknown): Cause {
  if (isCancellation(error)) {
    const { name, reason } = update.life.cancelled ?? { reason: 'the update was cancelled' };
    return { outcome: 'cancelled', failure: { ...(name === undefined ? {} : { name }), reason } };
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
  'Retargeted',
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
  cluster.showGoingBack(sentence(cause));
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
