import type { AnyBoundary, BoundaryWatch } from './boundaries';

export interface Struck {
  readonly watch: BoundaryWatch;
  /** Waits for the end of the rollout and checks every promise. */
  rest(): Promise<void>;
}

/** Until all strikes are done, at most one per node. */
export async function strikeInTurn<T>(
  rollNext: () => Promise<Struck>,
  strikes: readonly T[],
  boundaryOf: (one: T) => AnyBoundary,
  hit: (one: T) => Promise<void>,
  survived: (one: T) => void,
): Promise<void> {
  const left = [...strikes];
  while (left.length > 0) {
    const { watch, rest } = await rollNext();
    const struck = new Set<string>();
    const done: T[] = [];
    for (;;) {
      const next = left[0];
      if (next === undefined) break;
      const boundary = boundaryOf(next);
      const node = await watch.next(boundary, (name) => !struck.has(name));
      if (node === undefined) break;
      struck.add(node);
      left.shift();
      await hit(next);
      done.push(next);
    }
    await rest();
    for (const one of done) survived(one);
  }
}
