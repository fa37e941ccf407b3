import type { Prepared, PrepareJob } from '../../../../server/ignition/prepare';
import { createShelf } from '../../../../server/ignition/shelf';
import type { ServedConfig } from '../../../../server/ignition/source';
import { aRendered } from './builders';

function served(name: string, pool = 'worker'): ServedConfig {
  return { pool, name, key: name, machineConfig: aRendered(name), facts: {} };
}

/** Jobs that the test ends. */
function aShelf() {
  const jobs: { job: PrepareJob; done: (text?: string) => void; fail: () => void }[] = [];
  const seconds: number[] = [];
  const shelf = createShelf({
    maxBytes: 1_000,
    prepared: (duration) => seconds.push(duration),
    preparer: {
      prepare: (job) =>
        new Promise((resolve, reject) => {
          jobs.push({
            job,
            done: (text = job.version) => resolve(ready(text)),
            fail: () => reject(new Error('gone')),
          });
        }),
      close: () => Promise.resolve(),
    },
  });
  return { shelf, jobs, seconds };
}

function ready(text: string): Prepared {
  const bytes = Buffer.from(text);
  return { state: 'ready', bytes: { identity: bytes, gzip: bytes, zstd: bytes }, digest: text };
}

describe('the prepared bytes of pools', () => {
  it('are prepared once, and are there at once from then on', async () => {
    const { shelf, jobs, seconds } = aShelf();

    const [one, two] = [shelf.get(served('a'), '3.4'), shelf.get(served('a'), '3.4')];
    expect(jobs).toHaveLength(1);
    jobs[0]?.done();
    expect(await one).toBe(await two);

    expect(shelf.get(served('a'), '3.4')).toEqual(ready('3.4'));
    expect(jobs).toHaveLength(1);
    expect(seconds).toHaveLength(1);
    expect(shelf.size).toBe(9);
  });

  it('are never those of the old config once a new one is served', async () => {
    const { shelf, jobs } = aShelf();
    const first = shelf.get(served('old'), '3.4');
    jobs[0]?.done('old');
    await first;

    const asked = shelf.get(served('new'), '3.4');

    expect(asked).toBeInstanceOf(Promise);
    jobs[1]?.done('new');
    expect(await asked).toEqual(ready('new'));
    expect(shelf.get(served('new'), '3.4')).toEqual(ready('new'));
  });

  it('are prepared ahead in the versions that machines of the pool have asked for', () => {
    const { shelf, jobs } = aShelf();
    void shelf.get(served('old'), '3.1');
    void shelf.get(served('old'), '2.2');

    shelf.warm(served('new'));

    expect(jobs.slice(2).map(({ job }) => job.version)).toEqual(['3.1', '2.2']);
    shelf.warm(served('new'));
    expect(jobs).toHaveLength(4);
  });

  it('are prepared ahead in the usual version for a pool that nobody has asked for', () => {
    const { shelf, jobs } = aShelf();

    shelf.warm(served('a', 'infra'));

    expect(jobs.map(({ job }) => job.version)).toEqual(['3.5']);
  });

  it('are tried again after a failure', async () => {
    const { shelf, jobs } = aShelf();
    const asked = shelf.get(served('a'), '3.4');
    jobs[0]?.fail();
    await expect(asked).rejects.toThrow('gone');

    void shelf.get(served('a'), '3.4');

    expect(jobs).toHaveLength(2);
  });

  it('are forgotten with their pool', async () => {
    const { shelf, jobs } = aShelf();
    const asked = shelf.get(served('a'), '3.4');
    jobs[0]?.done();
    await asked;

    shelf.forget('worker');

    expect(shelf.size).toBe(0);
  });
});
