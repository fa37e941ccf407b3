/**
 * What people have said to a rollout of one thing, the pause of its pool or one node, and what is not written yet.
 * It is written one after the other, in the order in which it was accepted: steps that are tried side by side
 * arrive in any order, and what arrives last would stand, whoever said it.
 *
 * No promise may come between a message and what it waits for, also none that only catches: the order of what several
 * of them do in one task is the order in a history, and each step more changes it.
 */

import { condition } from '@temporalio/workflow';
import { isCancellation, refuse } from './contracts/failures';

/** No node has such a name. */
export const POOL = 'the pool';

type Meaning = 'pause' | 'resume' | 'retry' | 'hold';

/** A word from when it is accepted until it is answered. */
export class AcceptedWord {
  /** Whether it counts already, although it is not written. */
  countsNow = false;
  private hasItsTurn = false;

  /** @param waits - others of the same thing are to be written first */
  constructor(
    readonly meaning: Meaning,
    readonly waits: boolean,
    private readonly open: readonly AcceptedWord[],
  ) {}

  /** How many are written until this one is. */
  get place(): number {
    return this.waits ? this.open.indexOf(this) + 1 : 1;
  }

  /** Whether nobody has said anything since. */
  stands(): boolean {
    return this.open.at(-1) === this;
  }

  /** Nothing but the word itself says so. */
  get isUnwritten(): boolean {
    return this.countsNow || (this.waits && !this.hasItsTurn);
  }

  /** Only for one that waits: one that does not is written in the very moment in which it is accepted. */
  async turn(): Promise<void> {
    try {
      await condition(() => this.open[0] === this);
    } catch (error) {
      throw inASentence(error);
    }
    this.hasItsTurn = true;
  }
}

export class AcceptedWords {
  private readonly open = new Map<string, AcceptedWord[]>();

  /**
   * To be called in the moment of acceptance: that is its place in the order.
   *
   * @param write - begins at once, waits for the turn of its word, writes it, and acts on it
   */
  accept<Answer>(
    thing: string,
    meaning: Meaning,
    write: (word: AcceptedWord) => Promise<Answer>,
  ): Promise<Answer> {
    const words = this.open.get(thing) ?? [];
    this.open.set(thing, words);
    const word = new AcceptedWord(meaning, words.length > 0, words);
    words.push(word);
    const answer = write(word);
    // Also one that failed: it keeps no later one waiting.
    const end = (): void => {
      words.splice(words.indexOf(word), 1);
      if (words.length === 0) this.open.delete(thing);
    };
    answer.then(end, end);
    return answer;
  }

  areOpen(): boolean {
    return this.open.size > 0;
  }

  /** What will be so of the thing when all is written; undefined = all is. */
  last(thing: string): Meaning | undefined {
    return this.open.get(thing)?.at(-1)?.meaning;
  }

  /** Whether a hold of the node counts already that is not written. */
  isBeingHeld(node: string): boolean {
    const words = this.open.get(node) ?? [];
    return words.some((word) => word.meaning === 'hold' && word.countsNow);
  }

  /** Whether a retry of the node is being written: an update of it that began now would not be that retry. */
  isBeingRetried(node: string): boolean {
    const words = this.open.get(node) ?? [];
    return words.some((word) => word.meaning === 'retry' && word.countsNow);
  }

  /** Whether somebody has said to leave a node out, and that waits for what was said before, or stands over it. */
  isToBeHeld(node: string): boolean {
    const words = this.open.get(node) ?? [];
    return words.some((word) => word.meaning === 'hold' && word.isUnwritten);
  }
}

/** Whatever was waited for in vain: the person hears what became of what they said. */
export function inASentence(error: unknown): unknown {
  if (!isCancellation(error)) return error;
  return refuse('RefusedRequest', 'the rollout was cancelled before this was written');
}
