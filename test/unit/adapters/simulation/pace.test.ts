import {
  DEFAULT_DURATIONS,
  createFailurePlan,
  createPace,
  seededRandom,
} from '../../../../adapters/simulation/pace';

describe('simulated failures', () => {
  it('strike the named step of the named node, as often as they say', () => {
    const plan = createFailurePlan([
      { node: 'a', at: 'boot', times: 2 },
      { node: 'b', at: 'verify', times: 1 },
    ]);

    expect(plan.strikes('a', 'verify')).toBe(false);
    expect([1, 2, 3].map(() => plan.strikes('a', 'boot'))).toEqual([true, true, false]);
    expect(plan.strikes('b', 'verify')).toBe(true);
  });
});

describe('the pace of simulated hosts', () => {
  it('is equal in equal runs and different between hosts', () => {
    const numbers = (text: string) => {
      const random = seededRandom(text);
      return Array.from({ length: 5 }, () => random());
    };

    expect(numbers('1/worker-1')).toEqual(numbers('1/worker-1'));
    expect(numbers('1/worker-1')).not.toEqual(numbers('1/worker-2'));
    expect(numbers('1/worker-1')).not.toEqual(numbers('2/worker-1'));
    expect(numbers('x').every((number) => number >= 0 && number < 1)).toBe(true);
  });

  it('stops at once when it is cancelled', async () => {
    const durations = { ...DEFAULT_DURATIONS, stageSeconds: 3600, applySeconds: 0, jitter: 0 };
    const cancelled = AbortSignal.abort(new Error('cancelled'));

    await expect(createPace('a', durations).take('stage', cancelled)).rejects.toMatchObject({
      name: 'AbortError',
    });
    await expect(createPace('a', durations).take('apply', cancelled)).rejects.toThrow('cancelled');
  });
});
