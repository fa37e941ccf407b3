/** What was started, ended in the opposite order: also while more of it starts. */

import { messageOf } from '../../core/errors';

export interface Lifetime {
  /** Aborted when the end begins. */
  readonly signal: AbortSignal;
  /**
   * Registers it before anything else can fail.
   *
   * @param end - not called when the start failed
   * @throws Error without a start when the end has begun
   */
  own<T>(start: () => T | Promise<T>, end: (started: T) => unknown): Promise<T>;
  /** The end waits for it. @param work - fails soon after the signal: at `own`, or in a wait */
  during(work: () => Promise<void>): Promise<void>;
  /** Ends everything, whatever fails. @throws Error with all that failed, such as abandoned work */
  end(): Promise<void>;
}

interface Owned {
  isStarting: boolean;
  /** After its start. */
  end(): Promise<void>;
}

/** Of the end, with work that sees no signal. After that, what the work needs ends beneath it. */
const PATIENCE_MS = 30_000;

export function createLifetime(patienceMs = PATIENCE_MS): Lifetime {
  const ending = new AbortController();
  const { signal } = ending;
  const owned: Owned[] = [];
  const working = new Set<Promise<void>>();
  const failures: Error[] = [];
  const note = async (ended: Promise<void>): Promise<void> => {
    await ended.catch((error: Error) => failures.push(error));
  };
  return {
    signal,
    own: async (start, end) => {
      // Shows where the work was.
      if (signal.aborted) throw new Error('not started, because everything ends');
      const starting = Promise.resolve(start());
      const one: Owned = {
        isStarting: true,
        end: () =>
          starting.then(
            async (started) => void (await end(started)),
            () => undefined, // whoever started it knows
          ),
      };
      owned.push(one);
      return starting.finally(() => (one.isStarting = false));
    },
    during: async (work) => {
      const doing = work();
      working.add(doing);
      try {
        await doing;
      } finally {
        working.delete(doing);
      }
    },
    end: async () => {
      ending.abort();
      const abandoned = Promise.all([...working].map(note));
      await atMost(patienceMs, abandoned);
      const late: Promise<void>[] = [];
      for (const one of owned.splice(0).reverse()) {
        const ended = note(one.end());
        if (one.isStarting) late.push(ended);
        else await ended;
      }
      await Promise.all([abandoned, ...late]);
      throwAll(failures.splice(0));
    },
  };
}

function throwAll(failures: readonly Error[]): void {
  const [first, ...others] = failures;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  throw new AggregateError(failures, failures.map(messageOf).join('\n'));
}

async function atMost(milliseconds: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)));
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
