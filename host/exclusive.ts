/** One piece of work at a time on a host: two of them would undo each other's half-done changes. */

export type Exclusive = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** A queue of one: work starts when everything asked for earlier has ended, well or badly. */
export function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    // Whoever asked hears of a failure; the next in line only waits for the end.
    last = result.catch(() => undefined);
    return result;
  };
}
