/**
 * Runs work per key: never twice at once, never lost, and rarely during bursts.
 *
 * The first change after a quiet time runs at once; further ones wait until none has come for
 * `quietMs`, at most `longestMs`.
 */

import { backoffMs, type Backoff } from '../core/backoff';
import type { Log } from '../adapters/kube/transport';
import { failureName, messageOf } from '../core/errors';

interface WorkQueueOptions {
  /** Reads the present state itself, so extra runs do no harm. */
  readonly work: (key: string, signal: AbortSignal) => Promise<void>;
  /** Before a failed key waits for its next try. */
  readonly onFailure: (failure: WorkFailure) => void;
  readonly quietMs: number;
  readonly longestMs: number;
  readonly backoff?: Backoff;
}

export interface WorkFailure {
  readonly key: string;
  readonly error: unknown;
  /** In a row, 1 at first. */
  readonly failures: number;
  readonly retryMs: number;
}

const BACKOFF = { firstMs: 200, maxMs: 60_000 };

interface Entry {
  running: boolean;
  timer?: NodeJS.Timeout;
  dueAt?: number;
  /** The running work asked to be run again. */
  againAt?: number;
  /** The oldest change that no run has seen. */
  pendingSince?: number;
  /** The last change or run: tells bursts. */
  lastActivityAt?: number;
  /** The running work forgot its key. */
  forgotten?: boolean;
  failures: number;
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #running = new Set<Promise<void>>();
  readonly #signal: AbortSignal;

  /** @param signal - drops waiting runs; running ones see it, too */
  constructor(options: WorkQueueOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    signal.addEventListener(
      'abort',
      () => {
        for (const entry of this.#entries.values()) clearTimeout(entry.timer);
      },
      { once: true },
    );
  }

  add(key: string): void {
    if (this.#signal.aborted) return;
    const entry = this.#entryOf(key);
    const now = Date.now();
    const inBurst =
      entry.running ||
      entry.pendingSince !== undefined ||
      (entry.lastActivityAt !== undefined && now - entry.lastActivityAt < this.#options.quietMs);
    entry.lastActivityAt = now;
    entry.pendingSince ??= now;
    // The running work may have read the state before this change.
    if (entry.running) return;
    const longest = entry.pendingSince + this.#options.longestMs;
    this.#schedule(key, entry, inBurst ? Math.min(now + this.#options.quietMs, longest) : now);
  }

  /** After a delay, or earlier after a change; also callable from its work. */
  addAfter(key: string, delayMs: number): void {
    if (this.#signal.aborted) return;
    const entry = this.#entryOf(key);
    const at = Date.now() + delayMs;
    if (entry.running) entry.againAt = Math.min(at, entry.againAt ?? at);
    else if (entry.dueAt === undefined || at < entry.dueAt) this.#schedule(key, entry, at);
  }

  /**
   * Drops the waiting run. Within the key's own work, after it has succeeded without a change
   * meanwhile.
   */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (entry.running) {
      entry.forgotten = true;
      return;
    }
    clearTimeout(entry.timer);
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** After an abort, nothing starts again. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /**
   * Runs a waiting change now, without the quiet time, and what it causes in turn, three rounds at
   * most. A failed key waits for its next try all the same.
   */
  async settle(key: string): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      const entry = this.#entries.get(key);
      const waits = entry?.pendingSince !== undefined && !entry.running;
      if (waits && !this.#signal.aborted) this.#start(key, entry);
      if (this.#running.size === 0) return;
      await this.idle();
    }
  }

  #entryOf(key: string): Entry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { running: false, failures: 0 };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #schedule(key: string, entry: Entry, at: number): void {
    clearTimeout(entry.timer);
    entry.dueAt = at;
    entry.timer = setTimeout(() => this.#start(key, entry), Math.max(0, at - Date.now()));
  }

  #start(key: string, entry: Entry): void {
    clearTimeout(entry.timer);
    const run = this.#run(key, entry);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  async #run(key: string, entry: Entry): Promise<void> {
    entry.running = true;
    delete entry.timer;
    delete entry.dueAt;
    delete entry.pendingSince;
    delete entry.againAt;
    delete entry.forgotten;
    try {
      await this.#options.work(key, this.#signal);
      entry.failures = 0;
    } catch (error) {
      this.#failed(key, entry, error);
    } finally {
      entry.running = false;
      this.#next(key, entry);
    }
  }

  #failed(key: string, entry: Entry, error: unknown): void {
    if (this.#signal.aborted) return;
    entry.failures += 1;
    const retryMs = this.#retryMs(entry.failures);
    this.#options.onFailure({ key, error, failures: entry.failures, retryMs });
  }

  /** For changes meanwhile, a retry, or the work's own request. */
  #next(key: string, entry: Entry): void {
    if (this.#signal.aborted) return;
    const now = Date.now();
    if (entry.pendingSince !== undefined) {
      const quiet = (entry.lastActivityAt ?? now) + this.#options.quietMs;
      const longest = entry.pendingSince + this.#options.longestMs;
      this.#schedule(key, entry, Math.min(quiet, longest));
    } else if (entry.failures > 0) {
      this.#schedule(key, entry, now + this.#retryMs(entry.failures));
    } else if (entry.forgotten === true) {
      this.#entries.delete(key);
    } else if (entry.againAt !== undefined) {
      this.#schedule(key, entry, entry.againAt);
    }
    entry.lastActivityAt = now;
  }

  #retryMs(failures: number): number {
    return backoffMs(this.#options.backoff ?? BACKOFF, failures);
  }
}

/** Outages are left out: the client of the server logs them once. */
export function tellFailure(
  log: Pick<Log, 'debug' | 'warn'>,
  { key, error, failures, retryMs }: WorkFailure,
  text: string,
  isSaid = failureName(error) === 'ApiUnavailable',
): void {
  const fields = { key, reason: messageOf(error), failures, retryMs };
  if (isSaid) log.debug(fields, text);
  else log.warn(fields, text);
}
