import { WorkQueue, type WorkFailure } from '../../../controllers/work-queue';

const QUIET_MS = 500;
const LONGEST_MS = 5_000;

interface Bench {
  readonly queue: WorkQueue;
  /** Milliseconds after the start at which each key ran. */
  readonly runs: { key: string; at: number }[];
  readonly failures: WorkFailure[];
  readonly stop: AbortController;
  /** Result of the next runs; the default is an immediate success. */
  work: (key: string) => Promise<void>;
}

function aBench(): Bench {
  const stop = new AbortController();
  const started = Date.now();
  const bench: Bench = {
    runs: [],
    failures: [],
    stop,
    work: async () => undefined,
    queue: new WorkQueue(
      {
        work: async (key) => {
          bench.runs.push({ key, at: Date.now() - started });
          await bench.work(key);
        },
        onFailure: (failure) => bench.failures.push(failure),
        quietMs: QUIET_MS,
        longestMs: LONGEST_MS,
        backoff: { firstMs: 100, maxMs: 1_000 },
      },
      stop.signal,
    ),
  };
  return bench;
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

describe('coalescing', () => {
  it('runs the first change at once', async () => {
    const bench = aBench();

    bench.queue.add('worker');
    await pass(0);

    expect(bench.runs).toEqual([{ key: 'worker', at: 0 }]);
  });

  it('folds a burst of fifty into two runs, the second when it is over', async () => {
    const bench = aBench();

    for (let change = 0; change < 50; change++) {
      bench.queue.add('worker');
      await pass(60);
    }
    await pass(10_000);

    const lastChangeAt = 49 * 60;
    expect(bench.runs.map(({ at }) => at)).toEqual([0, lastChangeAt + QUIET_MS]);
  });

  it('does not let an endless burst starve', async () => {
    const bench = aBench();

    for (let change = 0; change < 120; change++) {
      bench.queue.add('worker');
      await pass(100);
    }

    expect(bench.runs.map(({ at }) => at)).toEqual([0, 100 + LONGEST_MS, 5_100 + LONGEST_MS]);
  });

  it('runs at once again after a quiet time', async () => {
    const bench = aBench();

    bench.queue.add('worker');
    await pass(QUIET_MS);
    bench.queue.add('worker');
    await pass(0);

    expect(bench.runs.map(({ at }) => at)).toEqual([0, QUIET_MS]);
  });

  it('keeps keys apart', async () => {
    const bench = aBench();

    bench.queue.add('worker');
    await pass(10);
    bench.queue.add('infra');
    await pass(0);

    expect(bench.runs.map(({ key }) => key)).toEqual(['worker', 'infra']);
  });
});

describe('one key', () => {
  it('never runs twice at once, and sees changes that came while it ran', async () => {
    const bench = aBench();
    let finish: () => void = () => undefined;
    let atOnce = 0;
    bench.work = async () => {
      atOnce += 1;
      expect(atOnce).toBe(1);
      await new Promise<void>((resolve) => (finish = resolve));
      atOnce -= 1;
    };

    bench.queue.add('worker');
    await pass(0);
    bench.queue.add('worker');
    await pass(10_000);
    expect(bench.runs).toHaveLength(1);
    finish();
    await pass(0);

    expect(bench.runs).toHaveLength(2);
    finish();
    await pass(10_000);
    expect(bench.runs).toHaveLength(2);
  });
});

describe('failures', () => {
  it('are tried again with growing delays up to a limit, and start over after a success', async () => {
    const bench = aBench();
    bench.work = async () => {
      throw new Error('away');
    };

    bench.queue.add('worker');
    await pass(3_700);

    expect(bench.runs.map(({ at }) => at)).toEqual([0, 100, 300, 700, 1_500, 2_500, 3_500]);
    expect(bench.failures[0]).toMatchObject({ key: 'worker', failures: 1, retryMs: 100 });
    bench.work = async () => undefined;
    await pass(800);
    expect(bench.runs).toHaveLength(8);
    await pass(60_000);
    expect(bench.runs).toHaveLength(8);
  });

  it('of one key leave the others alone', async () => {
    const bench = aBench();
    bench.work = async (key) => {
      if (key === 'bad') throw new Error('away');
    };

    bench.queue.add('bad');
    bench.queue.add('good');
    await pass(250);

    expect(bench.runs.filter(({ key }) => key === 'good')).toHaveLength(1);
    expect(bench.runs.filter(({ key }) => key === 'bad')).toHaveLength(2);
  });
});

describe('an abort', () => {
  it('drops what waits, and takes nothing new', async () => {
    const bench = aBench();
    bench.queue.add('worker');
    await pass(0);
    bench.queue.add('worker');

    bench.stop.abort();
    bench.queue.add('other');
    await pass(60_000);

    expect(bench.runs).toHaveLength(1);
  });

  it('is seen by the running work, and idle waits for it', async () => {
    const stop = new AbortController();
    let seen = false;
    const queue = new WorkQueue(
      {
        work: (_key, signal) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              seen = true;
              resolve();
            });
          }),
        onFailure: () => undefined,
        quietMs: QUIET_MS,
        longestMs: LONGEST_MS,
      },
      stop.signal,
    );
    queue.add('worker');
    await pass(0);

    stop.abort();
    await queue.idle();

    expect(seen).toBe(true);
  });
});

describe('addAfter', () => {
  it('runs later, unless a change comes before', async () => {
    const bench = aBench();

    bench.queue.addAfter('worker', 30_000);
    await pass(29_999);
    expect(bench.runs).toEqual([]);
    await pass(1);
    expect(bench.runs).toHaveLength(1);

    bench.queue.addAfter('worker', 30_000);
    await pass(1_000);
    bench.queue.add('worker');
    await pass(0);
    expect(bench.runs).toHaveLength(2);
    await pass(60_000);
    expect(bench.runs).toHaveLength(2);
  });

  it('asked for by the work itself runs later, too', async () => {
    const bench = aBench();
    let asked = false;
    bench.work = async (key) => {
      if (!asked) bench.queue.addAfter(key, 30_000);
      asked = true;
    };

    bench.queue.add('worker');
    await pass(29_999);
    expect(bench.runs).toHaveLength(1);
    await pass(1);

    expect(bench.runs).toHaveLength(2);
  });
});

describe('a key that will not come back', () => {
  it('is forgotten when its own work says so', async () => {
    const bench = aBench();
    bench.work = async (key) => {
      bench.queue.forget(key);
    };

    bench.queue.add('gone');
    bench.queue.add('gone too');
    await pass(0);

    expect(bench.runs).toHaveLength(2);
    expect(bench.queue.size).toBe(0);
  });

  it('is remembered as long as it changes or fails', async () => {
    const bench = aBench();
    let fails = true;
    bench.work = async (key) => {
      bench.queue.forget(key);
      if (bench.runs.length === 1) bench.queue.add(key);
      else if (fails) throw new Error('away');
    };

    bench.queue.add('worker');
    await pass(QUIET_MS);
    expect(bench.runs).toHaveLength(2);
    fails = false;
    await pass(100);

    expect(bench.runs).toHaveLength(3);
    expect(bench.queue.size).toBe(0);
  });

  it('is dropped at once while it waits', async () => {
    const bench = aBench();
    bench.queue.addAfter('worker', 1_000);

    bench.queue.forget('worker');
    await pass(10_000);

    expect(bench.runs).toEqual([]);
    expect(bench.queue.size).toBe(0);
  });
});
