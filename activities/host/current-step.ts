/** The running activity's cancellation and heartbeat, from Temporal's context. */

import { Context } from '@temporalio/activity';
import type { PullProgress } from '../../adapters/host';
import type { StepContext } from '../../host/ports';

/** What a heartbeat of a host activity says. */
export interface HostHeartbeat {
  /** What it does, for a person: a path, an image, whom it waits for. */
  readonly at: string;
  /** How far the pull of an image is. */
  readonly pull?: PullProgress;
}

/** What the activity said last: a sign of life repeats it, else nobody could read it. */
const LAST = new WeakMap<Context, HostHeartbeat>();

/** @throws when called outside an activity */
export function currentStep(): StepContext {
  const context = Context.current();
  return {
    signal: context.cancellationSignal,
    progress: (text, pull) => {
      const details: HostHeartbeat = { at: text, ...(pull === undefined ? {} : { pull }) };
      LAST.set(context, details);
      context.heartbeat(details);
    },
  };
}

/**
 * Heartbeats while an activity runs, because a cancellation arrives only in answer to one. The work
 * is always waited for: an activity that has returned must not go on writing.
 */
export function withHeartbeats<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    heartbeating(activity as Activity),
  ]);
  return Object.fromEntries(wrapped) as T;
}

type Activity = (...args: never[]) => Promise<unknown>;

/** Well below every heartbeat timeout; a cancellation arrives with the answer to one. */
const HEARTBEAT_MS = 3_000;

function heartbeating(activity: Activity): Activity {
  return async (...args) => {
    const context = Context.current();
    const timer = setInterval(() => {
      context.heartbeat(LAST.get(context));
    }, HEARTBEAT_MS);
    timer.unref();
    try {
      return await activity(...args);
    } finally {
      clearInterval(timer);
    }
  };
}
