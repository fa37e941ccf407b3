import { keepContact } from '../../../../server/ignition/api-contact';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function given() {
  const state = { isAway: false, asked: 0, now: 0, silentMs: 0 };
  const warned: string[] = [];
  const stopping = new AbortController();
  const contact = keepContact(
    async () => {
      state.asked += 1;
      if (state.isAway) throw new Error('connection refused');
    },
    {
      signal: stopping.signal,
      log: { warn: (_fields, message) => void warned.push(message) },
      clock: () => state.now,
      silentMs: () => state.silentMs,
    },
  );
  const pass = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 1) {
      state.now += 1_000;
      await jest.advanceTimersByTimeAsync(1_000);
    }
  };
  return { contact, state, warned, stopping, pass };
}

describe('the age of what is known', () => {
  it('is the time since the API server last answered, asked every ten seconds', async () => {
    const { contact, state, pass } = given();

    await pass(9);
    expect(contact.ageSeconds()).toBe(9);
    await pass(1);
    expect([contact.ageSeconds(), state.asked]).toEqual([0, 2]);
  });

  it('grows while the API server is away, which is said once each time', async () => {
    const { contact, state, warned, pass } = given();
    await pass(10);
    state.isAway = true;

    await pass(35);
    expect(contact.ageSeconds()).toBe(35);
    expect(warned).toEqual(['API server away: serving cached objects']);
    state.isAway = false;
    await pass(5);
    expect(contact.ageSeconds()).toBe(0);
    state.isAway = true;
    await pass(10);
    expect(warned).toHaveLength(2);
  });

  it('counts from the question: the answer may have been on its way for long', async () => {
    const state = { now: 0, answer: (): void => undefined };
    const contact = keepContact(
      () =>
        new Promise<void>((resolve) => {
          state.answer = resolve;
        }),
      {
        signal: AbortSignal.abort(),
        log: { warn: () => undefined },
        clock: () => state.now,
        silentMs: () => 0,
      },
    );
    state.now = 7_000;
    state.answer();
    await Promise.resolve();

    expect(contact.ageSeconds()).toBe(7);
  });

  it('is that of the last question that was answered, also when an earlier one is answered after it', async () => {
    const state = { now: 0, answers: [] as (() => void)[] };
    const stopping = new AbortController();
    const contact = keepContact(
      () => new Promise<void>((resolve) => void state.answers.push(resolve)),
      {
        signal: stopping.signal,
        log: { warn: () => undefined },
        clock: () => state.now,
        silentMs: () => 0,
      },
    );
    state.now = 10_000;
    await jest.advanceTimersByTimeAsync(10_000);
    const [first, second] = state.answers;
    second?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(contact.ageSeconds()).toBe(0);

    first?.();
    await jest.advanceTimersByTimeAsync(0);

    expect(contact.ageSeconds()).toBe(0);
    stopping.abort();
  });

  it('is that of a watch that says nothing for longer than a bookmark takes, whatever is answered', async () => {
    const { contact, state, pass } = given();
    await pass(10);

    state.silentMs = 60_000;
    expect(contact.ageSeconds()).toBe(0);
    state.silentMs = 70_000;
    expect(contact.ageSeconds()).toBe(70);
  });

  it('is asked for no more when the server ends', async () => {
    const { state, stopping, pass } = given();

    stopping.abort();
    await pass(60);

    expect(state.asked).toBe(1);
    expect(jest.getTimerCount()).toBe(0);
  });
});
