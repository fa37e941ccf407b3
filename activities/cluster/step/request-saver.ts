import type { OpenUpdates } from '../../../core/rollout/picture';
import type { Grant } from '../../../core/rollout/pool-rollout';
import { inParallel } from '../../../core/concurrency-limit';
import type { NodeUpdates } from '../ports';

/** How long an answer of Temporal, and a start, are not asked for again. */
const VALID_MS = 10_000;
/** An older answer is asked for again while it still holds, so that no step has to wait for it. */
const RENEWED_AFTER_MS = 5_000;
const COUNTS_EVERY_MS = 1_000;
const PARALLEL_QUESTIONS = 10;

interface SaverPorts {
  readonly now: () => number;
  readonly nodeUpdates: Pick<NodeUpdates, 'listOpen' | 'isClosed'>;
}

/**
 * What a worker keeps to save requests, each for ten seconds. Nothing is decided wrongly without it, nor with that of
 * another worker.
 */
export class RequestSaver {
  readonly #open = new Recent<OpenUpdates>();
  /** Under way. One that is never answered is waited for no longer than an answer is valid. */
  readonly #listing = new Recent<Promise<OpenUpdates>>();
  /** By node. */
  readonly #started = new Recent<true>();
  /** By run. */
  readonly #cancelled = new Recent<true>();
  /** By run: what Temporal has said, asked by its ID. */
  readonly #isClosed = new Recent<boolean>();
  readonly #counted = new Map<string, number>();

  constructor(private readonly ports: SaverPorts) {}

  /** @throws `TemporalUnavailable` */
  async openUpdates(pool: string): Promise<OpenUpdates> {
    const now = this.ports.now();
    const known = this.#open.get(pool, now);
    if (known === undefined) return this.#list(pool);
    const isAging = Math.abs(now - Date.parse(known.listedAt)) >= RENEWED_AFTER_MS;
    // A failure is that of the step that has to wait for an answer.
    if (isAging) void this.#list(pool).catch(() => undefined);
    return known;
  }

  /** One question at a time. */
  #list(pool: string): Promise<OpenUpdates> {
    const now = this.ports.now();
    const underWay = this.#listing.get(pool, now);
    if (underWay !== undefined) return underWay;
    const asked = this.#ask(pool);
    this.#listing.set(pool, asked, now);
    return asked;
  }

  async #ask(pool: string): Promise<OpenUpdates> {
    const now = this.ports.now();
    try {
      const updates = await this.ports.nodeUpdates.listOpen(pool);
      const open = { listedAt: new Date(now).toISOString(), updates };
      this.#open.set(pool, open, now);
      return open;
    } finally {
      this.#listing.delete(pool);
    }
  }

  /**
   * Asks Temporal about runs that are in doubt.
   *
   * @returns those of them that are closed
   * @throws `TemporalUnavailable`
   */
  async closedOf(grants: readonly Grant[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    const now = this.ports.now();
    await inParallel(grants, PARALLEL_QUESTIONS, async ({ node, run }) => {
      const known = this.#isClosed.get(run, now);
      if (known === false) return;
      const isClosed = known ?? (await this.ports.nodeUpdates.isClosed(node, run));
      this.#isClosed.set(run, isClosed, now);
      if (isClosed) found.add(run);
    });
    return found;
  }

  wasStarted(node: string): boolean {
    return this.#started.get(node, this.ports.now()) !== undefined;
  }

  hasStarted(node: string): void {
    this.#started.set(node, true, this.ports.now());
  }

  wasCancelled(run: string): boolean {
    return this.#cancelled.get(run, this.ports.now()) !== undefined;
  }

  hasCancelled(run: string): void {
    this.#cancelled.set(run, true, this.ports.now());
  }

  mayWriteCounts(pool: string): boolean {
    const before = this.#counted.get(pool) ?? -Infinity;
    return Math.abs(this.ports.now() - before) >= COUNTS_EVERY_MS;
  }

  hasWritten(pool: string): void {
    this.#counted.set(pool, this.ports.now());
  }
}

/** Values that are valid for ten seconds, oldest first. */
class Recent<T> {
  readonly #values = new Map<string, { readonly value: T; readonly at: number }>();

  get(key: string, now: number): T | undefined {
    const known = this.#values.get(key);
    return known !== undefined && isValid(known.at, now) ? known.value : undefined;
  }

  delete(key: string): void {
    this.#values.delete(key);
  }

  set(key: string, value: T, now: number): void {
    for (const [other, { at }] of this.#values) {
      if (isValid(at, now)) break;
      this.#values.delete(other);
    }
    this.#values.delete(key);
    this.#values.set(key, { value, at: now });
  }
}

function isValid(at: number, now: number): boolean {
  return Math.abs(now - at) < VALID_MS;
}
