/** How an update goes back: as far as its node was disturbed, and what the node is given back with. */

import { sentence, type Failure } from '../errors';
import { fewNames } from '../few';
import { shownPhase } from './update-shown';
import {
  completing,
  isAtLeast,
  isRebootArmed,
  reachOf,
  type Answers,
  type Back,
  type BackName,
  type Cause,
  type Follow,
  type Forward,
  type FoundCordon,
  type Interruption,
  type StateOf,
  type UpdateFacts,
  type UpdateState,
  type Working,
} from './update-states';

type Stopped = Exclude<Interruption, { is: 'gone' }>;

/** A host that is silent at each commit, and answers in between, is not waited for any longer. */
const COMMITS_AT_MOST = 5;
/** Whoever takes the cordon away in the middle of every drain is not waited for any longer. */
const CLEARED_AT_MOST = 5;

/** The step of a state has failed, or was cancelled. */
export function interrupted(
  state: StateOf<Working>,
  event: Stopped,
  facts: UpdateFacts,
): UpdateState {
  if ('back' in state) return failedBack(state, event, facts);
  const { is } = state;
  if (is === 'committing' && event.is === 'failed' && event.isLate && state.times < COMMITS_AT_MOST)
    return { ...state, is: 'provingAgain' };
  return setOut(backFrom(state, event, facts), facts);
}

function backFrom(state: StateOf<Forward>, event: Stopped, facts: UpdateFacts): Back {
  const reach = reachOf(state);
  const phase = shownPhase(state);
  const prepared = 'prepared' in state ? state.prepared : undefined;
  const disturbed = { reach, ...(prepared === undefined ? {} : { prepared }) };
  const hostIsOn = state.is === 'completing' ? state.hostIsOn : prepared?.hostIsOn;
  return {
    ...{ cause: causeOf(event, disturbed, facts), phase, ...disturbed },
    // A node that was never disturbed, or is on its config for good, has nothing to go back from.
    shown: reach === 'nothing' || reach === 'committed' ? phase : 'GoingBack',
    ...(hostIsOn === undefined ? {} : { hostIsOn }),
  };
}

function causeOf(
  event: Stopped,
  disturbed: Pick<Back, 'reach' | 'prepared'>,
  facts: UpdateFacts,
): Cause {
  if (event.is === 'cancelled') {
    const { name, reason } = event.why;
    const failure = { ...(name === undefined ? {} : { name }), reason };
    return { outcome: 'cancelled', failure, isCancellation: true, isTriedLater: false };
  }
  const { reach } = disturbed;
  const { name, reason } = event.failure;
  // A host that is silent after its proof has failed on its config, and counts for it.
  const isSilent = reach === 'commitOrdered' && name === 'HostUnreachable';
  const failure: Failure = isSilent ? { name: 'VerifyFailed', reason } : event.failure;
  const isOutage = reach !== 'committed' && !isRebootArmed(disturbed) && isIn(OUTAGES, failure);
  // A drain that is tried again later is no failure of the node: it stays a candidate.
  const isTriedLater = name === 'DrainTimedOut' && facts.retriesDrain;
  const isExcused = isOutage || isTriedLater || isIn(NO_FAILURES, failure);
  return {
    outcome: isExcused ? 'cancelled' : 'failed',
    failure,
    isCancellation: false,
    isTriedLater,
  };
}

/** Of steps in the cluster; those of hosts fail with others. What the API server answers for an hour is no outage. */
const OUTAGES = ['ApiUnavailable', 'TemporalUnavailable'];
/** The node has done nothing wrong with this config: it is updated when a rollout wants it again. */
const NO_FAILURES = [
  'CordonedByUser',
  'EarlierUpdateLost',
  'HeldByUser',
  'NodeMoved',
  'OrderOutdated',
  'Retargeted',
  'UpdateSuperseded',
];

function isIn(names: readonly string[], { name }: Failure): boolean {
  return name !== undefined && names.includes(name);
}

/** The first step of a way back. */
function setOut(back: Back, facts: UpdateFacts): UpdateState {
  const { reach } = back;
  if (reach === 'committed') return release(back, { isBack: true }, facts);
  if (!isAtLeast(reach, 'applied')) return settle(back, facts);
  return reach === 'commitOrdered' ? { is: 'asking', back } : clearOrUndo(back);
}

/**
 * Whether an update that has changed nothing leaves nothing half done. A host settles what it finds before it
 * checks the order, so one that refuses the order, or was not waited for, is asked; whoever said that it has not
 * settled, or is out of reach, is not.
 */
function settle(back: Back, facts: UpdateFacts): UpdateState {
  const { prepared, cause } = back;
  // Before the node is given back: until then its disk is not that of the config that it would be said to be on.
  if (prepared?.tookOver === true) return { is: 'settling', back, how: 'undo' };
  if (prepared !== undefined) return release(back, { isBack: prepared.isSettled }, facts);
  if (facts.found === 'whole') return release(back, { isBack: true }, facts);
  if (cause.failure.name === 'HostUnreachable') return release(back, { isBack: false }, facts);
  return { is: 'settling', back, how: 'discard' };
}

/**
 * Somebody may have uncordoned the node since its reboot, or a pod was bound to it late, and the boot on the way back
 * would end the pods that came to it without asking any budget. So they are evicted first, as before the reboot; under
 * the cordon of a person, if there is one, which stays theirs.
 */
function clearOrUndo(back: Back): UpdateState {
  const { plan, isSettled = true } = back.prepared ?? {};
  // A machine that an earlier update has rebooted boots back, too.
  const mayBoot = isRebootArmed(back) || !isSettled;
  return plan?.drain === true && mayBoot
    ? { is: 'lookingBack', back, times: 1 }
    : { is: 'undoing', back };
}

const BACK: { readonly [K in BackName]: Follow<K> } = {
  asking: ({ back }, { committed }, { config }) => {
    if (committed !== true) return clearOrUndo(back);
    return { is: 'readyAfterAll', back: { ...back, reach: 'committed', hostIsOn: config } };
  },
  readyAfterAll: ({ back }, _answer, { config }) => {
    if (back.prepared === undefined) throw new Error('bug: a host has committed unprepared');
    return completing(back.prepared, config);
  },
  lookingBack: ({ back, times }, found) => afterLook(back, times, found),
  cordoningAgain: ({ back, times }, { drained }) =>
    drained === undefined ? { is: 'drainingAgain', back, times } : { is: 'undoing', back },
  drainingAgain: ({ back }) => ({ is: 'undoing', back }),
  undoing: ({ back }, { rebooting, bootId, because }) => ({
    ...{ is: 'provingBack', back },
    ...(rebooting ? { rebootedFrom: bootId } : {}),
    ...(because === undefined ? {} : { because }),
  }),
  provingBack: ({ back, rebootedFrom, because }, { bootId, kept }) => ({
    ...{ is: 'readyBack', back },
    ...(rebootedFrom === undefined ? {} : { bootId }),
    ...(because === undefined ? {} : { because }),
    ...(kept === undefined ? {} : { kept }),
  }),
  readyBack: (state, _answer, facts) => isBackAgain(state, facts),
  settling: ({ back }, { currentConfig, unsettled }, facts) => {
    const hostIsOn = currentConfig ?? back.hostIsOn;
    const known = { ...back, ...(hostIsOn === undefined ? {} : { hostIsOn }) };
    return release(known, { isBack: unsettled !== true, isSettled: true }, facts);
  },
  releasing: ({ ending }) => ({ is: 'ended', ending }),
};

/** The answer is that of the state's step. */
export function wentBack(
  state: StateOf<BackName>,
  answer: Answers[Working],
  facts: UpdateFacts,
): UpdateState {
  const follow = BACK[state.is] as Follow<BackName>;
  return follow(state, answer, facts);
}

/** What fails on the way back is part of the ending. */
function failedBack(state: StateOf<BackName>, event: Stopped, facts: UpdateFacts): UpdateState {
  const { back } = state;
  const failure = event.is === 'failed' ? event.failure : event.why;
  switch (state.is) {
    case 'readyAfterAll':
      return failedOnItsConfig(back, failure, facts);
    // A look that fails holds up no way back: the machine has just failed, and nothing says that it serves.
    case 'lookingBack':
      return afterLook(back, state.times, cordonFoundBy(failure) ?? 'ours');
    case 'cordoningAgain':
    case 'drainingAgain': {
      const isOvertaken = cordonFoundBy(failure) !== undefined && state.times < CLEARED_AT_MOST;
      if (!isOvertaken) return stuck(back, failure, facts);
      return { is: 'lookingBack', back, times: state.times + 1 };
    }
    // The host is back, so the cordon goes in any case; whether the node serves the release sees.
    case 'readyBack':
      return isBackAgain(state, facts);
    case 'settling':
      return release(back, { isBack: false, isSettled: true }, facts);
    case 'releasing':
      return { is: 'ended', ending: state.ending };
    default:
      return stuck(back, failure, facts);
  }
}

function afterLook(back: Back, times: number, found: FoundCordon): UpdateState {
  if (found === 'ours') return { is: 'undoing', back };
  return { is: found === 'none' ? 'cordoningAgain' : 'drainingAgain', back, times };
}

/** What a step that a person has overtaken has found in place of the cordon of this update. */
function cordonFoundBy({ name }: Failure): FoundCordon | undefined {
  if (name === 'UncordonedByUser') return 'none';
  return name === 'CordonedByUser' ? 'of a person' : undefined;
}

function isBackAgain(state: StateOf<'readyBack'>, facts: UpdateFacts): UpdateState {
  const { back, because, kept } = state;
  const found = {
    ...(because === undefined ? {} : { because }),
    ...(kept === undefined ? {} : { kept }),
  };
  return release(back, { isBack: true, ...found }, facts);
}

/** Only a node whose host cannot be taken back stays cordoned, and says why. */
function stuck(back: Back, failure: Failure, facts: UpdateFacts): UpdateState {
  const { cause, reach } = back;
  const mayBe = reach === 'commitOrdered' ? '; it may have committed' : '';
  const reason = `${sentence(cause.failure)}; going back failed: ${sentence(failure)}${mayBe}`;
  return release(back, { isBack: false, problem: { name: 'RollbackFailed', reason } }, facts);
}

/** A commit that has begun is final. Its node may have failed on the config all the same, and says so. */
function failedOnItsConfig(back: Back, failure: Failure, facts: UpdateFacts): UpdateState {
  const { name, reason } = failure;
  const stays = `its host has committed ${facts.config}, so it stays on it`;
  const said = `${reason}; ${sentence(back.cause.failure)}; ${stays}`;
  const problem = { ...(name === undefined ? {} : { name }), reason: said };
  return release(back, { isBack: true, problem }, facts);
}

interface HostNow {
  /** It is known to be in a good state. */
  readonly isBack: boolean;
  /** Why it is not, when it should have been taken back. */
  readonly problem?: Failure;
  /** Directories that stay on it, of somebody else. */
  readonly kept?: readonly string[];
  /** Why its machine had gone back by itself. */
  readonly because?: string;
  /** It was asked on the way back to drop what it has. */
  readonly isSettled?: true;
}

/** Gives the node back, and says that the run is over. */
function release(back: Back, host: HostNow, facts: UpdateFacts): UpdateState {
  const { cause, reach, phase, hostIsOn } = back;
  const failure = host.problem ?? withFound(cause.failure, host);
  const outcome = host.problem === undefined ? cause.outcome : 'failed';
  // Also where the update had to finish first, and has failed.
  const holds = facts.cancelled?.holds === true && !facts.takesBack;
  const isApplied = isAtLeast(reach, 'applied');
  return {
    ...{ is: 'releasing', back, isGivenBack: false },
    ending: { outcome, failure, phase },
    release: {
      ...{ outcome, failure, hostIsBack: host.isBack },
      ...{ holds, isTriedLater: host.problem === undefined && cause.isTriedLater && !holds },
      ...(hostIsOn === undefined ? {} : { hostIsOn }),
      isProvenBack: host.isBack && isApplied && failure.name === 'EarlierUpdateLost',
    },
    drops: host.isSettled !== true && drops(back, failure),
  };
}

/**
 * Whether the host is told to drop the staged deployment: not one that was booted, nor a host out of reach. A host that
 * is still preparing hears of a cancellation late, or after it has staged everything.
 */
function drops(back: Back, { name }: Failure): boolean {
  const { prepared, reach, cause } = back;
  if (name === 'HostUnreachable' || name === 'RollbackFailed') return false;
  if (prepared === undefined) return cause.isCancellation;
  return prepared.isSettled && !prepared.tookOver && reach !== 'committed' && !isRebootArmed(back);
}

/**
 * The failure with what came to light on the way back: why the machine had begun it, if nobody has heard that yet; and
 * what it has left, which is nobody's to remove but a person's, who is told where it is.
 */
function withFound(failure: Failure, { because, kept = [] }: HostNow): Failure {
  const isNews = because !== undefined && !failure.reason.includes(because);
  const stays = `what somebody else has put into ${fewNames(kept)} stays there`;
  const found = [...(isNews ? [because] : []), ...(kept.length === 0 ? [] : [stays])];
  return { ...failure, reason: [failure.reason, ...found].join('; ') };
}
