/** The thread in which a large first config does not block requests. */

import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../core/errors';
import { prepareNow, type PrepareJob } from './prepare';
import type { ThreadAnswer } from './thread-preparer';

parentPort?.on('message', ({ id, job }: { readonly id: number; readonly job: PrepareJob }) => {
  const answer = answerTo(id, job);
  parentPort?.postMessage(answer);
});

function answerTo(id: number, job: PrepareJob): ThreadAnswer {
  try {
    return { id, prepared: prepareNow(job) };
  } catch (error) {
    return { id, failure: messageOf(error) };
  }
}
