/** How the cancellation of an update, or the end of its Node, reaches the step that is under way. */

import { CancellationScope } from '@temporalio/workflow';
import { isCancellable } from '../../core/node/update';
import type {
  Answers,
  CancelReason,
  StateOf,
  UpdateEvent,
  Working,
} from '../../core/node/update-states';
import { explain, isLate } from '../contracts/failures';

export interface Cancellation {
  /** Resolves when the workflow was cancelled and it is known why, which usually never happens. */
  readonly known: Promise<CancelReason>;
  /** Undefined = it was not cancelled. */
  readonly why: CancelReason | undefined;
}

/** @param ask - why the update is cancelled; never throws */
export function cancellationOf(ask: () => Promise<CancelReason>): Cancellation {
  let why: CancelReason | undefined;
  const known = CancellationScope.current().cancelRequested.catch(async () => {
    why = await CancellationScope.nonCancellable(ask);
    return why;
  });
  return {
    known,
    get why() {
      return why;
    },
  };
}

/**
 * Takes the step of a state, and tells how it ended. A cancellation reaches it only where the update can be cancelled,
 * and then the end of the step is awaited. The end of the Node is waited for by nobody.
 */
export async function eventOf(
  state: StateOf<Working>,
  take: () => Promise<Answers[Working]>,
  cancellation: Cancellation,
): Promise<UpdateEvent> {
  // The workflow's own cancellation does not reach it.
  const parent = new CancellationScope({ cancellable: false });
  const scope = new CancellationScope({ cancellable: true, parent });
  const ended = scope.run(take).then(
    (answer): UpdateEvent =>
      scope.consideredCancelled ? stopped(cancellation) : { is: 'done', answer },
    (error: unknown) => failed(error, state, scope, cancellation),
  );
  const reached = cancellation.known.then((why) => {
    const isGone = why.name === 'NodeDeleted';
    if (isGone || isCancellable(state)) scope.cancel();
    return isGone ? stopped(cancellation) : ended;
  });
  return Promise.race([reached, ended]);
}

function stopped({ why = { reason: 'the update was cancelled' } }: Cancellation): UpdateEvent {
  return why.name === 'NodeDeleted'
    ? { is: 'gone', failure: { name: why.name, reason: why.reason } }
    : { is: 'cancelled', why };
}

function failed(
  error: unknown,
  state: StateOf<Working>,
  scope: CancellationScope,
  cancellation: Cancellation,
): UpdateEvent {
  const isGone = cancellation.why?.name === 'NodeDeleted';
  // Also where a step ends otherwise, as one whose worker is gone.
  if (isGone || scope.consideredCancelled) return stopped(cancellation);
  const isRebooting = state.is === 'proving' && state.rebootedFrom !== undefined;
  const failure = explain(error, isRebooting);
  if (failure.name === 'NodeDeleted') return { is: 'gone', failure };
  return { is: 'failed', failure, isLate: isLate(error) };
}
