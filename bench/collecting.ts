/**
 * Loaded with `--require` into a measured process and its threads: on request, it collects all
 * garbage and answers with the remaining memory.
 */

import { createServer } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

/** One socket per process: `PID.sock`. */
export const COLLECTING_DIRECTORY = 'SLIPWAY_BENCH_COLLECTING_DIRECTORY';

const CHANNEL = 'slipway-bench-collecting';
/** A busy thread answers only when its current task ends. */
const PATIENCE_MS = 30_000;

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

interface Collected {
  readonly threadId: number;
  readonly liveBytes: number;
}

const directory = process.env[COLLECTING_DIRECTORY];
if (directory !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  if (isMainThread) answerRequests(join(directory, `${process.pid}.sock`), collect);
  else answerMainThread(collect);
}

function collectHere(collect: Collect): number {
  // Twice: what finalizers release becomes garbage in the second round.
  for (let round = 0; round < 2; round += 1)
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function answerMainThread(collect: Collect): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: { data: unknown }) => {
    if (data !== 'collect') return;
    channel.postMessage({ threadId, liveBytes: collectHere(collect) } satisfies Collected);
  };
  channel.unref();
}

function answerRequests(socketPath: string, collect: Collect): void {
  const threads = new Set<number>();
  process.on('worker', (worker) => {
    const id = worker.threadId;
    threads.add(id);
    worker.once('exit', () => threads.delete(id));
  });
  const server = createServer((socket) => {
    const answer = (reply: object): void => void socket.end(JSON.stringify(reply));
    socket.on('error', () => undefined); // the client has closed the connection
    collectEverywhere(collect, threads).then(
      (liveBytes) => answer({ liveBytes }),
      (error: unknown) => answer({ error: String(error) }),
    );
  });
  server.listen(socketPath);
  server.unref();
}

/** @returns live bytes of all threads together */
async function collectEverywhere(collect: Collect, threads: ReadonlySet<number>): Promise<number> {
  const found = new Map<number, number>();
  const channel = new BroadcastChannel(CHANNEL);
  const missing = (): readonly number[] => [...threads].filter((id) => !found.has(id));
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no answer from threads ${missing().join(', ')}`)),
        PATIENCE_MS,
      );
      const hear = (): void => {
        if (missing().length > 0) return;
        clearTimeout(timer);
        resolve();
      };
      channel.onmessage = ({ data }: { data: unknown }) => {
        const { threadId: from, liveBytes } = data as Collected;
        found.set(from, liveBytes);
        hear();
      };
      channel.postMessage('collect');
      hear();
    });
  } finally {
    channel.close();
  }
  const inThreads = [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
  return inThreads + collectHere(collect);
}
