/** Two at a time would undo each other's unfinished changes. */

export type Exclusive = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Work starts when all earlier work has ended, successfully or not. */
export function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    // The next work waits only for the end.
    last = result.catch(() => undefined);
    return result;
  };
}
