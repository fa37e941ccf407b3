/** The update of one node as a state machine: what follows what, as a pure function. */

import type { Failure } from '../errors';
import type { UpdatePlan } from './plan-types';
import { interrupted, wentBack } from './update-back';
import { shownPhase } from './update-shown';
import {
  completing,
  type Answers,
  type Follow,
  type Forward,
  type PreparedHost,
  type StateOf,
  type UpdateEvent,
  type UpdateFacts,
  type UpdateState,
  type Working,
} from './update-states';

/**
 * The state after an event. A cancellation that comes too late changes nothing; the end of the Node ends everything:
 * nothing is taken back on it, and whoever comes next to its host settles what is left.
 */
export function next(state: StateOf<Working>, event: UpdateEvent, facts: UpdateFacts): UpdateState {
  switch (event.is) {
    case 'gone':
      return endedAsGone(state, event.failure);
    case 'given back':
      return state.is === 'releasing' ? { ...state, isGivenBack: state.drops } : state;
    case 'done':
      return answered(state, event.answer, facts);
    case 'cancelled':
      return isCancellable(state) ? interrupted(state, event, facts) : state;
    case 'failed':
      return interrupted(state, event, facts);
  }
}

function endedAsGone(state: UpdateState, failure: Failure): UpdateState {
  return { is: 'ended', ending: { outcome: 'cancelled', failure, phase: shownPhase(state) } };
}

/** Until the reboot is armed, and without a reboot until the commit is ordered. */
export function isCancellable(state: UpdateState): boolean {
  switch (state.is) {
    case 'preparing':
    case 'waiting':
    case 'draining':
    case 'applying':
    case 'looking':
    case 'acting':
      return true;
    case 'proving':
    case 'returning':
      return !state.prepared.plan.reboot;
    default:
      return false;
  }
}

/** The answer is that of the state's step. */
function answered(
  state: StateOf<Working>,
  answer: Answers[Working],
  facts: UpdateFacts,
): UpdateState {
  if ('back' in state) return wentBack(state, answer, facts);
  const follow = FORWARD[state.is] as Follow<Forward>;
  return follow(state, answer, facts);
}

const FORWARD: { readonly [K in Forward]: Follow<K> } = {
  preparing: (_state, answer, facts) => {
    const prepared = preparedBy(answer);
    if (answer.alreadyOnTarget) return completing(prepared);
    const { reconcilable } = prepared.plan;
    if (reconcilable.ok) return { is: 'waiting', prepared };
    const failure: Failure = { name: 'Unreconcilable', reason: reconcilable.reason };
    const refused = { is: 'failed', failure, isLate: false } as const;
    return interrupted({ is: 'preparing', prepared }, refused, facts);
  },
  waiting: ({ prepared }, { drained }) =>
    prepared.plan.drain && drained === undefined
      ? { is: 'draining', prepared, isLate: false }
      : { is: 'applying', prepared },
  draining: ({ prepared, isLate }) => ({ is: isLate ? 'arming' : 'applying', prepared }),
  applying: ({ prepared }) => {
    const { plan } = prepared;
    if (plan.reboot) return { is: plan.drain ? 'looking' : 'arming', prepared };
    return { is: actsOnServices(plan) ? 'acting' : 'proving', prepared };
  },
  // The scheduler may have chosen the node before its cordon, and bound a pod to it after its drain.
  looking: ({ prepared }, { isEmpty }) =>
    isEmpty ? { is: 'arming', prepared } : { is: 'draining', prepared, isLate: true },
  arming: ({ prepared }, { bootId }) => ({ is: 'proving', prepared, rebootedFrom: bootId }),
  acting: ({ prepared }) => ({ is: 'proving', prepared }),
  proving: ({ prepared, rebootedFrom }, { bootId }) => ({
    ...{ is: 'returning', prepared },
    // Without a reboot, any boot will do.
    ...(rebootedFrom === undefined ? {} : { bootId }),
  }),
  returning: ({ prepared }) => ({ is: 'committing', prepared, times: 1 }),
  committing: ({ prepared }, _answer, { config }) => completing(prepared, config),
  provingAgain: ({ prepared, times }) => ({ is: 'readyAgain', prepared, times }),
  readyAgain: ({ prepared, times }) => ({ is: 'committing', prepared, times: times + 1 }),
  completing: () => ({ is: 'ended', ending: { outcome: 'updated' } }),
};

function preparedBy(answer: Answers['preparing']): PreparedHost {
  const { plan, currentConfig, unsettled, tookOver } = answer;
  return {
    plan,
    ...(currentConfig === undefined ? {} : { hostIsOn: currentConfig }),
    isSettled: unsettled !== true,
    tookOver: tookOver === true,
  };
}

const SERVICE_ACTIONS = ['Restart', 'Reload', 'DaemonReload', 'Special'] as const;

function actsOnServices({ actions }: UpdatePlan): boolean {
  return actions.some(({ type }) => (SERVICE_ACTIONS as readonly string[]).includes(type));
}
