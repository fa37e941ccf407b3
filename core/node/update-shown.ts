/** What people see of an update: its phase, and what it waits for. */

import type { NodePhase } from './lifecycle';
import type { UpdatePlan } from './plan-types';
import {
  isRebootArmed,
  reachOf,
  type StateOf,
  type UpdateState,
  type Working,
} from './update-states';

const UNSAID = 'the host has not said that it has committed';
const LOOK = 'a look at the cordon and the pods of its node';
const DROP = 'the host to drop what it has staged';

type Shown = readonly [phase: NodePhase, blocker: string];

export function shownPhase(state: UpdateState): NodePhase {
  return state.is === 'ended' ? endPhase(state) : shownOf(state)[0];
}

/** Undefined = the update has ended. */
export function blockerOf(state: UpdateState): string | undefined {
  return state.is === 'ended' ? undefined : shownOf(state)[1];
}

/** Undefined = there is none yet, or the update has ended. */
export function planOf(state: UpdateState): UpdatePlan | undefined {
  if (state.is === 'ended') return undefined;
  return ('back' in state ? state.back.prepared : state.prepared)?.plan;
}

/** Past the point of no return, also one that is on its way back from there. */
export function isPastReturn(state: UpdateState): boolean {
  if (state.is === 'ended') return false;
  if ('back' in state) return isRebootArmed(state.back);
  const { prepared } = state;
  return isRebootArmed({ reach: reachOf(state), ...(prepared === undefined ? {} : { prepared }) });
}

function endPhase({ ending: { outcome, failure } }: StateOf<'ended'>): NodePhase {
  if (failure?.name === 'NodeDeleted') return 'Gone';
  return ({ updated: 'Updated', failed: 'Degraded', cancelled: 'Cancelled' } as const)[outcome];
}

function shownOf(state: StateOf<Working>): Shown {
  return 'back' in state ? [state.back.shown, blockerBack(state)] : shownForward(state);
}

function shownForward(state: Exclude<StateOf<Working>, { back: unknown }>): Shown {
  switch (state.is) {
    case 'preparing':
      return ['Preparing', 'the host to prepare it'];
    case 'waiting':
      return ['WaitingForGrant', 'a grant of its pool'];
    case 'draining':
      return [
        'Draining',
        `pods ${state.isLate ? 'that came since its drain ' : ''}to leave the node`,
      ];
    case 'applying':
      return ['Applying', 'the host to write its files'];
    case 'looking':
      return ['Applying', LOOK];
    case 'arming':
      return ['Rebooting', 'the host to begin its reboot'];
    case 'acting':
      return ['Reloading', 'the host to act on its services'];
    case 'proving':
      return state.rebootedFrom === undefined
        ? ['Verifying', 'the host to verify what it has']
        : ['Rebooting', 'the machine to come back and prove what it has'];
    case 'returning':
      return ['Verifying', 'the node to be Ready'];
    case 'committing':
      return ['Completing', 'the host to make it its current config'];
    case 'provingAgain':
      return ['Verifying', `the host to verify what it has: ${UNSAID}`];
    case 'readyAgain':
      return ['Verifying', `the node to be Ready for longer: ${UNSAID}`];
    case 'completing':
      return ['Completing', 'its Node to be written'];
  }
}

function blockerBack(state: Extract<StateOf<Working>, { back: unknown }>): string {
  switch (state.is) {
    case 'asking':
      return 'the host to say whether it has committed';
    case 'readyAfterAll':
      return 'the node to be Ready for longer: its host has committed, and did not say so';
    case 'lookingBack':
      return LOOK;
    case 'cordoningAgain':
      return 'its Node to be cordoned once more';
    case 'drainingAgain':
      return 'pods to leave the node once more, before it boots back';
    case 'undoing':
      return 'the host to go back to its old config';
    case 'provingBack':
      return state.rebootedFrom === undefined
        ? 'the host to verify its old config'
        : 'the machine to come back on its old config';
    case 'readyBack':
      return 'the node to be Ready on its old config';
    case 'settling':
      return state.how === 'discard'
        ? DROP
        : 'the host to undo what it had taken over from an earlier update';
    case 'releasing':
      return state.isGivenBack ? DROP : 'its Node to be given back';
  }
}
