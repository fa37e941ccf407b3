/** How long an update lives: until it has ended by itself, or until its Node is deleted. */

import { CancellationScope } from '@temporalio/workflow';
import type { Failure } from './contracts/failures';
import { nodeGoneSignal } from './messages';
import { hear, readReason } from './signal-payloads';

/**
 * A cancellation takes an update back; the end of its Node ends it at once, whatever it is doing, also
 * what a cancellation must not reach. There is nothing left that could be taken back.
 */
export class NodeLife {
  /** Resolves when the Node is known to be gone, which usually never happens. */
  readonly over: Promise<Failure>;
  private failure: Failure | undefined;
  private tellOver: (failure: Failure) => void = () => undefined;
  private readonly body = new CancellationScope();
  /** Cancelled by nobody but `end`. */
  private readonly shield = new CancellationScope({
    cancellable: true,
    parent: new CancellationScope({ cancellable: false }),
  });

  constructor() {
    this.over = new Promise((resolve) => {
      this.tellOver = resolve;
    });
    hear(
      nodeGoneSignal,
      readReason,
      ({ reason }) => void this.end(reason),
      'From the pool rollout: the Node was deleted; stop, nothing is to be taken back',
    );
  }

  /** Work that a cancellation of the workflow reaches. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.body.run(work);
  }

  /** Work that only the end of the Node reaches. */
  shielded<T>(work: () => Promise<T>): Promise<T> {
    return this.shield.run(work);
  }

  /** Whether the workflow was cancelled. */
  get isCancelled(): boolean {
    return this.body.consideredCancelled;
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
}
