import { Context } from '@temporalio/activity';
import type { PullProgress } from '../../adapters/host';
import type { StepContext } from '../../host/ports';

interface HostHeartbeat {
  /** For people: a path, an image, a blocker. */
  readonly at: string;
  readonly pull?: PullProgress;
}

/** Repeated by each heartbeat, because it replaces the one before. */
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
 * Sends heartbeats while an activity runs: their replies bring a cancellation. Waits for the work,
 * because a returned activity must not go on writing.
 */
export function withHeartbeats<T extends object>(activities: T): T {
  const wrapped = Object.entries(activities).map(([name, activity]) => [
    name,
    heartbeating(activity as Activity),
  ]);
  return Object.fromEntries(wrapped) as T;
}

type Activity = (...args: never[]) => Promise<unknown>;

/** Well below every heartbeat timeout. */
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
