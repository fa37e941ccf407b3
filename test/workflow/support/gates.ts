import { Context } from '@temporalio/activity';

/** A place where an activity waits until the test opens it, or until it is cancelled. */
export interface Gate {
  /** Resolves when an activity has come to the gate. */
  readonly reached: Promise<void>;
  open(): void;
}

export interface Hook {
  readonly step: string;
  /** Absent = every node. */
  readonly node?: string;
  /** How often it applies; absent = always. */
  times?: number;
  act(): Promise<void> | void;
}

/** A write that is under way does not hear of a cancellation. */
const WRITES: ReadonlySet<string> = new Set(['cordon']);

/** A gate together with the hook that stops an activity at it. */
export function gateFor(step: string, node: string | undefined): { gate: Gate; hook: Hook } {
  const opened = latch();
  const reached = latch();
  return {
    gate: { reached: reached.promise, open: opened.resolve },
    hook: {
      step,
      ...(node === undefined ? {} : { node }),
      act: async () => {
        reached.resolve();
        await (WRITES.has(step) ? opened.promise : orCancelled(opened.promise));
      },
    },
  };
}

/**
 * Heartbeats while it waits, because cancellations arrive with heartbeats. Steps without heartbeats in the product
 * get no cancellation here either.
 */
async function orCancelled(promise: Promise<void>): Promise<void> {
  const context = Context.current();
  const hasHeartbeats = (context.info.heartbeatTimeoutMs ?? 0) > 0;
  const beat = setInterval(() => {
    if (hasHeartbeats) context.heartbeat();
  }, 50);
  try {
    await Promise.race([promise, context.cancelled]);
  } finally {
    clearInterval(beat);
  }
}

export function latch(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
