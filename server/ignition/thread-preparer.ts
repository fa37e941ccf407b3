import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../core/errors';
import type { Prepared, Preparer } from './prepare';

export type ThreadAnswer =
  | { readonly id: number; readonly prepared: Prepared }
  | { readonly id: number; readonly failure: string };

interface Waiting {
  readonly resolve: (prepared: Prepared) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A thread that dies fails its jobs, and the next job starts a new one.
 *
 * @param file - the compiled entry of the thread
 */
export function createThreadPreparer(file = join(__dirname, 'prepare-thread.js')): Preparer {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;
  let isClosed = false;

  function failAll(error: Error): void {
    const jobs = [...waiting.values()];
    waiting.clear();
    for (const { reject } of jobs) reject(error);
  }

  function start(): Worker {
    const started = new Worker(file);
    started.on('message', (answer: ThreadAnswer) => {
      const job = waiting.get(answer.id);
      waiting.delete(answer.id);
      if (waiting.size === 0) started.unref();
      if ('prepared' in answer) job?.resolve(withBuffers(answer.prepared));
      else job?.reject(new Error(`preparing a first config failed: ${answer.failure}`));
    });
    const gone = (why: string): void => {
      if (thread !== started) return;
      thread = undefined;
      failAll(new Error(`the thread that prepares first configs is gone: ${why}`));
    };
    started.on('error', (error: unknown) => gone(messageOf(error)));
    started.on('exit', (code) => gone(`exit code ${code}`));
    return started;
  }

  return {
    prepare(job) {
      if (isClosed) return Promise.reject(new Error('the preparer is closed'));
      thread ??= start();
      const used = thread;
      used.ref();
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        used.postMessage({ id, job });
      });
    },
    async close() {
      isClosed = true;
      const running = thread;
      thread = undefined;
      failAll(new Error('the preparer is closed'));
      await running?.terminate();
    },
  };
}

/** Bytes arrive as plain arrays; a Buffer shares their memory. */
function withBuffers(prepared: Prepared): Prepared {
  if (prepared.state !== 'ready') return prepared;
  const { zstd, gzip, identity } = prepared.bytes;
  return {
    ...prepared,
    bytes: { zstd: asBuffer(zstd), gzip: asBuffer(gzip), identity: asBuffer(identity) },
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
