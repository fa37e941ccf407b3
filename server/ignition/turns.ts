/** Spreads bursts of work over turns of the event loop, so that other work runs in between. */

/** Calls back at once when there is room in this turn, else in a later one, in order. */
export type Turns = (weight: number, begin: () => void) => void;

/** @param perTurn - the weight of one turn; heavier work has a turn for itself */
export function createTurns(perTurn: number): Turns {
  const waiting: { readonly weight: number; readonly begin: () => void }[] = [];
  let taken = 0;
  let isCounting = false;

  /** True = it fits into this turn, and is counted. */
  function take(weight: number): boolean {
    if (taken > 0 && taken + weight > perTurn) return false;
    taken += weight;
    if (!isCounting) {
      isCounting = true;
      setImmediate(nextTurn);
    }
    return true;
  }

  function nextTurn(): void {
    taken = 0;
    isCounting = false;
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      if (!take(first.weight)) return;
      waiting.shift();
      first.begin();
    }
  }

  return (weight, begin) => {
    if (waiting.length === 0 && take(weight)) begin();
    else waiting.push({ weight, begin });
  };
}
