type Limit = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** The work over the limit waits in order. */
export function createLimit(most: number): Limit {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      // The place goes to the next waiter, so that no newcomer takes it.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** At most so many at once; the results keep the order of the items. No other begins after a failed one. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
  return results;
}
