/** One piece of work at a time on a host: two would undo each other's unfinished changes. */

export type Exclusive = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** A queue: work starts when all earlier work has ended, successfully or not. */
export function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    // The caller gets the failure; the next work waits only for the end.
    last = result.catch(() => undefined);
    return result;
  };
}
