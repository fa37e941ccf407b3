import type { WorkflowClient } from '@temporalio/client';
import {
  wakeSignal,
  type PoolRolloutInput,
  type SeenVersions,
} from '../../workflows/contracts/rollout';
import { newest } from '../../workflows/pool/versions';
import { POOL_ROLLOUT, rolloutStart } from './start-rollout';

/** Without one, a call that nobody answers would hold up all that follow. */
const DEADLINE_MS = 10_000;

/** A call that has not begun: words that come meanwhile join it. */
interface Waiting {
  seen: SeenVersions;
  readonly sent: Promise<void>;
}

/** Starts rollouts, or has them look again. Per pool one call is under way at most, and one waits. */
export class RolloutWaker {
  readonly #waiting = new Map<string, Waiting>();
  /** By pool: settled when the last call that was begun, or waits, has ended. Never rejects. */
  readonly #ended = new Map<string, Promise<void>>();

  constructor(readonly workflow: WorkflowClient) {}

  /**
   * Resolves when a call that began after this one has succeeded.
   *
   * @param seen - what the next picture has to show
   * @throws what the Temporal client throws
   */
  wake(pool: string, seen: SeenVersions): Promise<void> {
    const waiting = this.#waiting.get(pool);
    if (waiting !== undefined) {
      waiting.seen = newest(waiting.seen, seen);
      return waiting.sent;
    }
    const sent = (this.#ended.get(pool) ?? Promise.resolve()).then(() => this.#sendWaiting(pool));
    this.#waiting.set(pool, { seen, sent });
    const ended = sent.catch(() => undefined);
    this.#ended.set(pool, ended);
    return sent;
  }

  async #sendWaiting(pool: string): Promise<void> {
    const seen = this.#waiting.get(pool)?.seen ?? {};
    this.#waiting.delete(pool);
    const input: PoolRolloutInput = { pool, isWoken: true };
    await this.workflow.withDeadline(Date.now() + DEADLINE_MS, () =>
      this.workflow.signalWithStart(POOL_ROLLOUT, {
        ...rolloutStart(pool),
        args: [input],
        signal: wakeSignal,
        signalArgs: [{ atLeast: seen }],
      }),
    );
  }
}
