/** Virtual time and seeded chance: the only sources of either in a simulation. */

/** Numbers from a seed: the same seed, the same numbers (mulberry32). */
export class Chance {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** At least 0, below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Whole, both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** Mostly short, now and then long: how latencies are. */
  latency(usual: number, longest: number): number {
    return this.is(0.9) ? this.between(0, usual) : this.between(usual, longest);
  }

  /** True with this probability. */
  is(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** Another source of numbers that follows from this one. */
  fork(): Chance {
    return new Chance(this.between(0, 0xffffffff));
  }
}

/** Something that is going to happen; `cancel` takes it back. */
export interface Planned {
  cancel(): void;
}

interface Entry extends Planned {
  readonly at: number;
  readonly order: number;
  readonly work: (() => void | Promise<void>) | undefined;
}

/** A queue of what happens next. Equal times happen in the order in which they were planned. */
export class VirtualClock {
  /** Events that have taken place. */
  steps = 0;
  private readonly heap: Heap = new Heap();
  private order = 0;

  /** @param now - milliseconds since the epoch */
  constructor(public now: number) {}

  after(ms: number, work: () => void | Promise<void>): Planned {
    const entry = {
      at: this.now + Math.max(0, Math.round(ms)),
      order: (this.order += 1),
      work: work as Entry['work'],
      cancel: () => {
        entry.work = undefined;
      },
    };
    this.heap.push(entry);
    return entry;
  }

  /**
   * Lets the next event happen, and everything that follows from it without time passing.
   *
   * @returns false when nothing is planned any more
   */
  async step(): Promise<boolean> {
    for (;;) {
      const next = this.heap.pop();
      if (next === undefined) return false;
      if (next.work === undefined) continue;
      this.now = Math.max(this.now, next.at);
      this.steps += 1;
      await next.work();
      await settled();
      return true;
    }
  }
}

/** Every promise that is resolved has had its say: a macrotask comes after all microtasks. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

class Heap {
  private readonly entries: Entry[] = [];

  push(entry: Entry): void {
    const { entries } = this;
    let at = entries.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(entry, entries[parent] as Entry)) break;
      entries[at] = entries[parent] as Entry;
      at = parent;
    }
    entries[at] = entry;
  }

  pop(): Entry | undefined {
    const { entries } = this;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= entries.length) break;
      const right = child + 1;
      if (right < entries.length && isBefore(entries[right] as Entry, entries[child] as Entry)) {
        child = right;
      }
      if (!isBefore(entries[child] as Entry, last)) break;
      entries[at] = entries[child] as Entry;
      at = child;
    }
    entries[at] = last;
    return first;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
