import { WorkQueue, type WorkFailure } from '../../../controllers/work-queue';

const QUIET_MS = 500;
const LONGEST_MS = 5_000;

interface Fixture {
  readonly queue: WorkQueue;
  /** Milliseconds after the start at which each key ran. */
  readonly runs: { key: string; at: number }[];
  readonly failures: WorkFailure[];
  readonly stop: AbortController;
  /** Result of the next runs; the default is an immediate success. */
  work: (key: string) => Promise<void>;
}

function aFixture(): Fixture {
  const stop = new AbortController();
  const started = Date.now();
  const fixture: Fixture = {
    runs: [],
    failures: [],
    stop,
    work: async () => undefined,
    queue: new WorkQueue(
      {
        work: async (key) => {
          fixture.runs.push({ key, at: Date.now() - started });
          await fixture.work(key);
        },
        onFailure: (failure) => fixture.failures.push(failure),
        quietMs: QUIET_MS,
        longestMs: LONGEST_MS,
        backoff: { firstMs: 100, maxMs: 1_000 },
      },
      stop.signal,
    ),
  };
  return fixture;
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

describe('settling', () => {
  it('runs what waits now, and again what came meanwhile', async () => {
    const fixture = aFixture();
    fixture.queue.add('worker');
    await pass(0);
    fixture.work = async () => {
      if (fixture.runs.length < 3) fixture.queue.add('worker');
    };
    fixture.queue.add('worker');

    await fixture.queue.settle('worker');

    expect(fixture.runs.map(({ at }) => at)).toEqual([0, 0, 0]);
    await pass(LONGEST_MS);
    expect(fixture.runs).toHaveLength(3);
  });

  it('waits for no retry', async () => {
    const fixture = aFixture();
    fixture.work = () => Promise.reject(new Error('no'));
    fixture.queue.add('worker');

    await fixture.queue.settle('worker');

    expect(fixture.runs).toHaveLength(1);
    expect(fixture.failures).toHaveLength(1);
  });

  it('starts nothing after an abort', async () => {
    const fixture = aFixture();
    fixture.queue.add('worker');
    fixture.stop.abort();

    await fixture.queue.settle('worker');

    expect(fixture.runs).toEqual([]);
  });
});

describe('coalescing', () => {
  it('runs the first change at once', async () => {
    const fixture = aFixture();

    fixture.queue.add('worker');
    await pass(0);

    expect(fixture.runs).toEqual([{ key: 'worker', at: 0 }]);
  });

  it('folds a burst of fifty into two runs, the second when it is over', async () => {
    const fixture = aFixture();

    for (let change = 0; change < 50; change++) {
      fixture.queue.add('worker');
      await pass(60);
    }
    await pass(10_000);

    const lastChangeAt = 49 * 60;
    expect(fixture.runs.map(({ at }) => at)).toEqual([0, lastChangeAt + QUIET_MS]);
  });

  it('does not let an endless burst starve', async () => {
    const fixture = aFixture();

    for (let change = 0; change < 120; change++) {
      fixture.queue.add('worker');
      await pass(100);
    }

    expect(fixture.runs.map(({ at }) => at)).toEqual([0, 100 + LONGEST_MS, 5_100 + LONGEST_MS]);
  });

  it('runs at once again after a quiet time', async () => {
    const fixture = aFixture();

    fixture.queue.add('worker');
    await pass(QUIET_MS);
    fixture.queue.add('worker');
    await pass(0);

    expect(fixture.runs.map(({ at }) => at)).toEqual([0, QUIET_MS]);
  });

  it('keeps keys apart', async () => {
    const fixture = aFixture();

    fixture.queue.add('worker');
    await pass(10);
    fixture.queue.add('infra');
    await pass(0);

    expect(fixture.runs.map(({ key }) => key)).toEqual(['worker', 'infra']);
  });
});

describe('one key', () => {
  it('never runs twice at once, and sees changes that came while it ran', async () => {
    const fixture = aFixture();
    let finish: () => void = () => undefined;
    let atOnce = 0;
    fixture.work = async () => {
      atOnce += 1;
      expect(atOnce).toBe(1);
      await new Promise<void>((resolve) => (finish = resolve));
      atOnce -= 1;
    };

    fixture.queue.add('worker');
    await pass(0);
    fixture.queue.add('worker');
    await pass(10_000);
    expect(fixture.runs).toHaveLength(1);
    finish();
    await pass(0);

    expect(fixture.runs).toHaveLength(2);
    finish();
    await pass(10_000);
    expect(fixture.runs).toHaveLength(2);
  });
});

describe('failures', () => {
  it('are tried again with growing delays up to a limit, and start over after a success', async () => {
    const fixture = aFixture();
    fixture.work = async () => {
      throw new Error('away');
    };

    fixture.queue.add('worker');
    await pass(3_700);

    expect(fixture.runs.map(({ at }) => at)).toEqual([0, 100, 300, 700, 1_500, 2_500, 3_500]);
    expect(fixture.failures[0]).toMatchObject({ key: 'worker', failures: 1, retryMs: 100 });
    fixture.work = async () => undefined;
    await pass(800);
    expect(fixture.runs).toHaveLength(8);
    await pass(60_000);
    expect(fixture.runs).toHaveLength(8);
  });

  it('of one key leave the others alone', async () => {
    const fixture = aFixture();
    fixture.work = async (key) => {
      if (key === 'bad') throw new Error('away');
    };

    fixture.queue.add('bad');
    fixture.queue.add('good');
    await pass(250);

    expect(fixture.runs.filter(({ key }) => key === 'good')).toHaveLength(1);
    expect(fixture.runs.filter(({ key }) => key === 'bad')).toHaveLength(2);
  });
});

describe('an abort', () => {
  it('drops what waits, and takes nothing new', async () => {
    const fixture = aFixture();
    fixture.queue.add('worker');
    await pass(0);
    fixture.queue.add('worker');

    fixture.stop.abort();
    fixture.queue.add('other');
    await pass(60_000);

    expect(fixture.runs).toHaveLength(1);
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
    const fixture = aFixture();

    fixture.queue.addAfter('worker', 30_000);
    await pass(29_999);
    expect(fixture.runs).toEqual([]);
    await pass(1);
    expect(fixture.runs).toHaveLength(1);

    fixture.queue.addAfter('worker', 30_000);
    await pass(1_000);
    fixture.queue.add('worker');
    await pass(0);
    expect(fixture.runs).toHaveLength(2);
    await pass(60_000);
    expect(fixture.runs).toHaveLength(2);
  });

  it('asked for by the work itself runs later, too', async () => {
    const fixture = aFixture();
    let asked = false;
    fixture.work = async (key) => {
      if (!asked) fixture.queue.addAfter(key, 30_000);
      asked = true;
    };

    fixture.queue.add('worker');
    await pass(29_999);
    expect(fixture.runs).toHaveLength(1);
    await pass(1);

    expect(fixture.runs).toHaveLength(2);
  });
});

describe('a key that will not come back', () => {
  it('is forgotten when its own work says so', async () => {
    const fixture = aFixture();
    fixture.work = async (key) => {
      fixture.queue.forget(key);
    };

    fixture.queue.add('gone');
    fixture.queue.add('gone too');
    await pass(0);

    expect(fixture.runs).toHaveLength(2);
    expect(fixture.queue.size).toBe(0);
  });

  it('is remembered as long as it changes or fails', async () => {
    const fixture = aFixture();
    let fails = true;
    fixture.work = async (key) => {
      fixture.queue.forget(key);
      if (fixture.runs.length === 1) fixture.queue.add(key);
      else if (fails) throw new Error('away');
    };

    fixture.queue.add('worker');
    await pass(QUIET_MS);
    expect(fixture.runs).toHaveLength(2);
    fails = false;
    await pass(100);

    expect(fixture.runs).toHaveLength(3);
    expect(fixture.queue.size).toBe(0);
  });

  it('is dropped at once while it waits', async () => {
    const fixture = aFixture();
    fixture.queue.addAfter('worker', 1_000);

    fixture.queue.forget('worker');
    await pass(10_000);

    expect(fixture.runs).toEqual([]);
    expect(fixture.queue.size).toBe(0);
  });
});
