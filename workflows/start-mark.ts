/**
 * What a rollout says on its pool of its own start, while the pool waits for a person. The last word alone counts: an
 * earlier one that is not written yet is not written any more, and none is written after a later one.
 */

import { CancellationScope } from '@temporalio/workflow';
import type { PoolLook } from './contracts/cluster';
import { isCancellation } from './contracts/failures';

export class StartMark {
  /** The config that this run said last, '' = none; undefined = it said nothing, or that could not be written. */
  private said: string | undefined;
  /** Of the last word, until it is written. */
  private scope: CancellationScope | undefined;
  private ended: Promise<unknown> = Promise.resolve();

  get isBeingWritten(): boolean {
    return this.scope !== undefined;
  }

  /** The config that the pool says a person started; what was said counts while the view may be behind. */
  over(view: PoolLook | undefined): string {
    return this.said ?? view?.startedConfig ?? '';
  }

  /**
   * Resolves when it is written, or when something else was said since. What could not be written is not said.
   *
   * @param config - '' = nobody has started any
   * @throws whatever `write` throws
   */
  async say(config: string, write: () => Promise<void>): Promise<void> {
    const { scope: before, ended } = this;
    const scope = new CancellationScope();
    this.said = config;
    this.scope = scope;
    before?.cancel();
    const written = scope.run(async () => {
      await ended;
      await write();
    });
    this.ended = written.catch(() => undefined);
    try {
      await written;
    } catch (error) {
      if (this.scope === scope) this.said = undefined;
      if (!isCancellation(error)) throw error;
    } finally {
      if (this.scope === scope) this.scope = undefined;
    }
  }
}
