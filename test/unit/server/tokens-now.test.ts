import type { JoinTokenRecord } from '../../../core/join';
import { createTokensNow } from '../../../server/stored-tokens';

jest.mock('node:timers/promises', () => jest.requireActual<object>('../faked-delay'));

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

type Tokens = ReadonlyMap<string, JoinTokenRecord>;

/** Reads that wait for `answer`, and a clock that stops until `pass`. */
function given() {
  let now = 0;
  const reads: { answer(tokens?: Tokens): void; fail(error: Error): void }[] = [];
  const tokensNow = createTokensNow({
    read: () =>
      new Promise<Tokens>((resolve, reject) => {
        reads.push({ answer: (tokens = new Map()) => resolve(tokens), fail: reject });
      }),
    clock: () => now,
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 1) {
      now += 1_000;
      await jest.advanceTimersByTimeAsync(1_000);
    }
  };
  const settle = () => jest.advanceTimersByTimeAsync(0);
  return { tokensNow, reads, pass, settle };
}

it('is a read that begins after the question: one under way may be too old', async () => {
  const { tokensNow, reads, settle } = given();
  const first = tokensNow();
  await settle();
  const second = tokensNow();
  const third = tokensNow();
  await settle();
  expect(reads).toHaveLength(1);

  const [early, late] = [new Map(), new Map()];
  reads[0]?.answer(early);
  await settle();
  expect(reads).toHaveLength(2);
  reads[1]?.answer(late);

  expect([await first, await second, await third]).toEqual([early, late, late]);
});

it('is read every two seconds at most, however many ask', async () => {
  const { tokensNow, reads, pass, settle } = given();
  const ask = async (): Promise<void> => {
    const answers = Array.from({ length: 1_000 }, () => tokensNow());
    await settle();
    reads.at(-1)?.answer();
    await Promise.allSettled(answers);
  };
  for (let asked = 0; asked < 5; asked += 1) await ask();
  expect(reads).toHaveLength(5);

  const waiting = ask();
  await pass(1);
  expect(reads).toHaveLength(5);
  await pass(1);
  reads.at(-1)?.answer();
  await waiting;

  expect(reads).toHaveLength(6);
});

it('is not waited for longer than Ignition would, and a read that fails is over', async () => {
  const { tokensNow, reads, pass, settle } = given();
  const late = expect(tokensNow()).rejects.toThrow('the API server has not answered within 5 s');
  await pass(5);
  await late;
  const failed = expect(tokensNow()).rejects.toThrow('connection reset');
  reads[0]?.fail(new Error('connection refused'));
  await settle();
  reads[1]?.fail(new Error('connection reset'));
  await failed;

  const answer = tokensNow();
  await settle();
  reads[2]?.answer();

  expect(await answer).toEqual(new Map());
});
