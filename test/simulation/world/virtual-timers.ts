/** Timers of activities in virtual time: the product sets them as in a real process. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Planned, VirtualClock } from '../clock';
import type { Attempt } from '../temporal/attempt';

interface Running {
  readonly attempt: Attempt;
  readonly clock: VirtualClock;
}

/** Which attempt the code that runs now belongs to; none = it is not of the simulation. */
const running = new AsyncLocalStorage<Running>();

/** Runs an attempt: `setTimeout`, `clearTimeout` and `performance.now` are of its virtual process. */
export function inVirtualTime<T>(
  attempt: Attempt,
  clock: VirtualClock,
  work: () => Promise<T>,
): Promise<T> {
  install();
  return running.run({ attempt, clock }, work);
}

/** The attempt that the code that runs now belongs to. */
export function currentAttempt(): Attempt {
  const found = running.getStore();
  if (found === undefined) throw new Error('no attempt runs');
  return found.attempt;
}

let isInstalled = false;

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  const { setTimeout: realSet, clearTimeout: realClear, performance: real } = globalThis;
  const virtual = new WeakSet<object>();
  const set = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): unknown => {
    const found = running.getStore();
    if (found === undefined) return realSet(work, ms, ...args);
    const timer = found.attempt.timer(ms, () => void running.run(found, () => work(...args)));
    virtual.add(timer);
    return timer;
  };
  const clear = (timer: unknown): void => {
    if (typeof timer === 'object' && timer !== null && virtual.has(timer)) {
      (timer as Planned).cancel();
    } else realClear(timer as NodeJS.Timeout);
  };
  const clocked = Object.create(real, {
    now: { value: () => running.getStore()?.clock.now ?? real.now() },
  }) as typeof real;
  for (const [name, value] of Object.entries({ setTimeout: set, clearTimeout: clear })) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  Object.defineProperty(globalThis, 'performance', { value: clocked, configurable: true });
}
