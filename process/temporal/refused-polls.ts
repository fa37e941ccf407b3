import { TransportError, type Worker } from '@temporalio/worker';

/** Of the SDK's own worker, by its names in `@temporalio/worker` 1.24. */
const POLLS = ['pollActivityTask', 'pollWorkflowActivation'] as const;

type Polls = Record<(typeof POLLS)[number], () => Promise<Buffer>>;

/**
 * Call before the worker runs. When Temporal refuses a poll for good, the SDK stops to poll, and its
 * worker never ends, because its core waits to be polled until it has ended. So it is polled on.
 *
 * @param refused - has to end the worker; orders that run are carried out
 */
export function tellRefusedPolls(worker: Worker, refused: (reason: unknown) => void): void {
  const { nativeWorker } = worker as unknown as { readonly nativeWorker: Polls };
  for (const name of POLLS) {
    const poll = nativeWorker[name];
    nativeWorker[name] = async () => {
      for (;;) {
        try {
          return await poll();
        } catch (error) {
          if (!(error instanceof TransportError)) throw error;
          refused(error);
        }
      }
    };
  }
}
