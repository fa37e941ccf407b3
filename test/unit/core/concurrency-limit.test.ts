import { createLimit, inParallel } from '../../../core/concurrency-limit';

describe('a limit', () => {
  it('lets so many run at once, the others in order, also after a failure', async () => {
    const limit = createLimit(2);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const work = (id: number) =>
      limit(async () => {
        started.push(id);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (id === 0) throw new Error('failed');
      });
    const all = [0, 1, 2, 3].map(work);
    const settled = Promise.allSettled(all);
    expect(started).toEqual([0, 1]);

    ends[0]?.();
    await all[0]?.catch(() => undefined);
    await Promise.resolve();
    expect(started).toEqual([0, 1, 2]);
    ends[1]?.();
    await all[1];
    await Promise.resolve();
    ends.slice(2).forEach((end) => end());
    expect(started).toEqual([0, 1, 2, 3]);
    ends.slice(2).forEach((end) => end());
    await settled;
  });
});

it('work in parallel keeps the order of its results, and stops at failures', async () => {
  const begun: number[] = [];
  const double = async (item: number): Promise<number> => {
    begun.push(item);
    if (item < 0) throw new Error('negative');
    return item * 2;
  };

  expect(await inParallel([1, 2, 3], 2, double)).toEqual([2, 4, 6]);
  begun.length = 0;
  await expect(inParallel([-1, 1, 2], 1, double)).rejects.toThrow('negative');
  expect(begun).toEqual([-1]);
});
