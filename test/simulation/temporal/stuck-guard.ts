/**
 * Ends the process when an activation of a workflow never ends, as one with a loop without a wait. One thread
 * looks after all of them: a limit for each call (`timeout` of `node:vm`) starts a thread each time, which took half
 * of the time of a simulation.
 */

import { Worker } from 'node:worker_threads';

const PROGRAM = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const calls = new Int32Array(workerData.shared, 0, 1);
const name = new Uint8Array(workerData.shared, 4);
let seen = -1;
let since = 0;
setInterval(() => {
  const now = Atomics.load(calls, 0);
  // Even = nothing runs.
  if (now % 2 === 0 || now !== seen) {
    seen = now;
    since = Date.now();
  } else if (Date.now() - since >= workerData.limitMs) {
    const text = Buffer.from(name).toString('utf8').replace(/\\0.*$/s, '');
    writeSync(2, 'simulation: one activation has not ended in ' + workerData.limitMs / 1000 + ' s: ' + text + '\\n');
    process.kill(process.pid, 'SIGKILL');
  }
}, workerData.limitMs / 10);
`;

const NAME_BYTES = 200;

/** Watches one thread: calls do not overlap in it. */
export class StuckGuard {
  private readonly shared = new SharedArrayBuffer(4 + NAME_BYTES);
  private readonly calls = new Int32Array(this.shared, 0, 1);
  private readonly name = new Uint8Array(this.shared, 4);
  private readonly encoder = new TextEncoder();

  /** @param limitMs - how long one call may take */
  constructor(limitMs: number) {
    const workerData = { shared: this.shared, limitMs };
    // It ends with the process, and keeps it from nothing.
    new Worker(PROGRAM, { eval: true, workerData }).unref();
  }

  /** @param name - of what is called, for whoever has to find it */
  async watch<Result>(name: string, call: () => Promise<Result>): Promise<Result> {
    this.name.fill(0);
    this.encoder.encodeInto(name, this.name);
    Atomics.add(this.calls, 0, 1);
    try {
      return await call();
    } finally {
      Atomics.add(this.calls, 0, 1);
    }
  }
}
