/** How an update ends before its time: it is cancelled, or its Node is gone. */

import { CancellationScope } from '@temporalio/workflow';
import type { CancelReason } from '../contracts/cluster';
import type { Failure } from '../contracts/failures';

/**
 * A cancellation takes an update back; the end of its Node ends it at once, whatever it is doing, also
 * what a cancellation must not reach. There is nothing left that could be taken back.
 */
export class NodeLife {
  /** Resolves when the Node is known to be gone, which usually never happens. */
  readonly over: Promise<Failure>;
  /** Why the update was cancelled; undefined = it was not. */
  cancelled: CancelReason | undefined;
  private failure: Failure | undefined;
  private tellOver: (failure: Failure) => void = () => undefined;
  private readonly body = new CancellationScope({
    cancellable: true,
    parent: new CancellationScope({ cancellable: false }),
  });
  /** Cancelled by nobody but `end`. */
  private readonly shield = new CancellationScope({
    cancellable: true,
    parent: new CancellationScope({ cancellable: false }),
  });

  constructor() {
    this.over = new Promise((resolve) => {
      this.tellOver = resolve;
    });
  }

  /**
   * Work that a cancellation of the workflow reaches, once it is known why.
   *
   * @param why - asked when the workflow is cancelled; never throws
   */
  async run<T>(work: () => Promise<T>, why: () => Promise<CancelReason>): Promise<T> {
    CancellationScope.current().cancelRequested.catch(() => void this.cancel(why));
    return this.body.run(work);
  }

  /** Work that only the end of the Node reaches. */
  shielded<T>(work: () => Promise<T>): Promise<T> {
    return this.shield.run(work);
  }

  /** Why the Node is gone; undefined = it is not. */
  get ended(): Failure | undefined {
    return this.failure;
  }

  end(reason: string): Failure {
    if (this.failure !== undefined) return this.failure;
    this.failure = { name: 'NodeDeleted', reason };
    this.tellOver(this.failure);
    this.body.cancel();
    this.shield.cancel();
    return this.failure;
  }

  private async cancel(why: () => Promise<CancelReason>): Promise<void> {
    const found = await CancellationScope.nonCancellable(why);
    this.cancelled = found;
    if (found.name === 'NodeDeleted') this.end(found.reason);
    else this.body.cancel();
  }
}
