import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PrepareJob, Preparer } from '../../../../server/ignition/prepare';
import { createThreadPreparer } from '../../../../server/ignition/thread-preparer';
import { aRendered } from './builders';

/** The version of a job selects an answer, a failure, or the end of the thread. */
const PROGRAM = `
const { parentPort, threadId } = require('node:worker_threads');
parentPort.on('message', ({ id, job }) => {
  if (job.version === '2.2') process.exit(3);
  if (job.version === '3.1') return parentPort.postMessage({ id, failure: 'a bug' });
  if (job.version === '3.2') return;
  parentPort.postMessage({ id, prepared: { state: 'refused', reason: 'thread ' + threadId } });
});
`;

let directory: string;
let preparer: Preparer;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-thread-'));
  const file = join(directory, 'thread.js');
  writeFileSync(file, PROGRAM);
  preparer = createThreadPreparer(file);
});
afterEach(async () => {
  await preparer.close();
  rmSync(directory, { recursive: true, force: true });
});

const job = (version: PrepareJob['version']): PrepareJob => ({
  machineConfig: aRendered(),
  facts: {},
  version,
  maxBytes: 1,
});

describe('the thread that prepares', () => {
  it('is one for all jobs', async () => {
    const [one, two] = await Promise.all([
      preparer.prepare(job('3.5')),
      preparer.prepare(job('3.5')),
    ]);

    expect(one).toEqual({
      state: 'refused',
      reason: expect.stringMatching(/^thread \d+$/) as string,
    });
    expect(two).toEqual(one);
  });

  it('tells a failure to the job that failed, and goes on', async () => {
    await expect(preparer.prepare(job('3.1'))).rejects.toThrow(
      'preparing a first config failed: a bug',
    );
    expect(await preparer.prepare(job('3.5'))).toMatchObject({ state: 'refused' });
  });

  it('fails its jobs when it dies, and the next one gets another thread', async () => {
    const before = await preparer.prepare(job('3.5'));
    const waiting = preparer.prepare(job('3.2'));
    const killer = preparer.prepare(job('2.2'));

    await expect(waiting).rejects.toThrow('is gone: exit code 3');
    await expect(killer).rejects.toThrow('is gone: exit code 3');
    expect(await preparer.prepare(job('3.5'))).not.toEqual(before);
  });

  it('fails its jobs when the server ends', async () => {
    const waiting = preparer.prepare(job('3.2'));
    const failed = expect(waiting).rejects.toThrow('the preparer is closed');

    await preparer.close();

    await failed;
    await expect(preparer.prepare(job('3.5'))).rejects.toThrow('the preparer is closed');
  });
});
