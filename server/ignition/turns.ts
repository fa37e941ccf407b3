/** Spreads bursts of work over turns of the event loop. */

/** At once when this turn has room, else in a later one, in order. */
export type Turns = (weight: number, begin: () => void) => void;

/** @param perTurn - the weight of one turn; heavier work has a turn for itself */
export function createTurns(perTurn: number): Turns {
  const waiting: { readonly weight: number; readonly begin: () => void }[] = [];
  let taken = 0;
  let isCounting = false;

  /** Counts it if it fits into this turn. */
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
