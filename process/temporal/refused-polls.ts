import { TransportError, type Worker } from '@temporalio/worker';

/** Of the SDK's own worker, by its names in `@temporalio/worker` 1.24. */
const POLLS = ['pollActivityTask', 'pollWorkflowActivation'] as const;

type Polls = Record<(typeof POLLS)[number], () => Promise<Buffer>>;

/**
 * Call before the worker runs. When Temporal refuses a poll for good, the SDK stops polling, but its core
 * waits to be polled until it has ended, so the worker would never end. Here, polling goes on.
 *
 * @param end - has to end the worker; orders that run are carried out
 * @returns a function that throws the first refusal; call it when the worker has ended
 */
export function endWhenRefused(worker: Worker, end: (reason: unknown) => void): () => void {
  const { nativeWorker } = worker as unknown as { readonly nativeWorker: Polls };
  const refusals: unknown[] = [];
  for (const name of POLLS) {
    const poll = nativeWorker[name];
    nativeWorker[name] = async () => {
      for (;;) {
        try {
          return await poll();
        } catch (error) {
          if (!(error instanceof TransportError)) throw error;
          refusals.push(error);
          end(error);
        }
      }
    };
  }
  return () => {
    if (refusals.length > 0) throw refusals[0];
  };
}
