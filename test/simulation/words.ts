/**
 * What a person has said last of a pool, pause or resume, stands until somebody says otherwise: whatever is
 * late, repeated or done by a process that stood still.
 */

interface Word {
  /** Requests that have no answer yet. */
  open: number;
  /** What was said last; undefined = it cannot be told, because requests overlapped or failed. */
  paused: boolean | undefined;
}

export class Words {
  private readonly words = new Map<string, Word>();

  /** @param onBroken - told in words what happened */
  constructor(private readonly onBroken: (what: string) => void) {}

  asked(pool: string): void {
    const word = this.of(pool);
    word.open += 1;
    word.paused = undefined;
  }

  answered(pool: string, paused: boolean, isDone: boolean): void {
    const word = this.of(pool);
    word.open -= 1;
    word.paused = word.open === 0 && isDone ? paused : undefined;
  }

  /** A person writes the pool itself. */
  wroteHimself(pool: string, paused: boolean): void {
    const word = this.of(pool);
    word.paused = word.open === 0 ? paused : undefined;
  }

  /** Slipway writes it. */
  wrote(pool: string, paused: boolean): void {
    const { open, paused: said } = this.of(pool);
    if (open > 0 || said === undefined || said === paused) return;
    const [was, is] = said ? ['paused', 'resumed'] : ['resumed', 'paused'];
    this.onBroken(`pool ${pool} was ${was} by a person, and is ${is} without a word`);
  }

  /** Somebody has asked for one of them, and has no answer yet: it may hold already. */
  isBeingSaid(pool: string): boolean {
    return this.of(pool).open > 0;
  }

  private of(pool: string): Word {
    const known = this.words.get(pool) ?? { open: 0, paused: undefined };
    this.words.set(pool, known);
    return known;
  }
}
