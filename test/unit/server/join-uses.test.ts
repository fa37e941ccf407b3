import { fail } from '../../../core/errors';
import { createJoinUses } from '../../../server/join-uses';

const START = Date.parse('2030-01-01T00:00:00Z');

beforeEach(() => jest.useFakeTimers({ now: START }));
afterEach(() => jest.useRealTimers());

function given(
  answer: () => Promise<void> = async () => undefined,
  known: Readonly<Record<string, string>> = {},
) {
  const written: string[] = [];
  const warned: object[] = [];
  const uses = createJoinUses({
    write: async (id, at) => {
      written.push(`${id} ${at}`);
      await answer();
    },
    known: (id) => known[id],
    log: { warn: (fields) => warned.push(fields) },
    now: Date.now,
  });
  return { uses, written, warned };
}

describe('the last use of a join token', () => {
  it('is written at the first use, then the last of each minute', async () => {
    const { uses, written } = given();

    uses.note('a');
    for (let i = 0; i < 30; i += 1) {
      await jest.advanceTimersByTimeAsync(1_000);
      uses.note('a');
    }
    expect(written).toEqual(['a 2030-01-01T00:00:00Z']);

    await jest.advanceTimersByTimeAsync(30_000);
    expect(written).toEqual(['a 2030-01-01T00:00:00Z', 'a 2030-01-01T00:00:30Z']);
  });

  it('is written at once again after a quiet minute, and nothing is kept of a quiet token', async () => {
    const { uses, written } = given();

    uses.note('a');
    await jest.advanceTimersByTimeAsync(61_000);
    expect(jest.getTimerCount()).toBe(0);
    uses.note('a');

    expect(written).toEqual(['a 2030-01-01T00:00:00Z', 'a 2030-01-01T00:01:01Z']);
  });

  it('is written for each token by itself', () => {
    const { uses, written } = given();

    uses.note('a');
    uses.note('b');

    expect(written).toHaveLength(2);
  });

  it('is tried again once a minute while the API server is away, and then is the latest', async () => {
    let isAway = true;
    const { uses, written, warned } = given(async () => {
      if (isAway) throw fail('ApiUnavailable', 'patch Secret: connection refused');
    });

    uses.note('a');
    await jest.advanceTimersByTimeAsync(10_000);
    uses.note('a');
    await jest.advanceTimersByTimeAsync(110_000);
    isAway = false;
    await jest.advanceTimersByTimeAsync(180_000);

    expect(written).toEqual([
      'a 2030-01-01T00:00:00Z',
      'a 2030-01-01T00:00:10Z',
      'a 2030-01-01T00:00:10Z',
      'a 2030-01-01T00:00:10Z',
    ]);
    expect(warned).toHaveLength(3);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is not asked for when the token is gone', async () => {
    const { uses, written, warned } = given(async () => {
      throw fail('ObjectNotFound', 'secrets "join-token-a" not found');
    });

    uses.note('a');
    await jest.advanceTimersByTimeAsync(300_000);

    expect(written).toHaveLength(1);
    expect(warned).toEqual([]);
  });

  it('never goes back, whatever another server has written and whatever becomes of the clock', async () => {
    const known: Record<string, string> = { a: '2030-01-01T00:00:30Z' };
    const { uses, written } = given(async () => undefined, known);

    uses.note('a');
    await jest.advanceTimersByTimeAsync(61_000);
    expect(written).toEqual([]);
    uses.note('a');
    await jest.advanceTimersByTimeAsync(10_000);
    uses.note('a');
    jest.setSystemTime(START);
    uses.note('a');
    await jest.advanceTimersByTimeAsync(61_000);

    expect(written).toEqual(['a 2030-01-01T00:01:01Z', 'a 2030-01-01T00:01:11Z']);
  });

  it('is written when the server ends, after what is being written', async () => {
    const answers: (() => void)[] = [];
    const { uses, written } = given(() => new Promise((resolve) => answers.push(resolve)));
    uses.note('a');
    await jest.advanceTimersByTimeAsync(1_000);
    uses.note('a');

    const stopped = uses.stop();
    uses.note('b');
    await jest.advanceTimersByTimeAsync(0);
    expect(written).toEqual(['a 2030-01-01T00:00:00Z']);
    answers.shift()?.();
    await jest.advanceTimersByTimeAsync(0);
    answers.shift()?.();
    await stopped;

    expect(written).toEqual(['a 2030-01-01T00:00:00Z', 'a 2030-01-01T00:00:01Z']);
    expect(jest.getTimerCount()).toBe(0);
  });
});
