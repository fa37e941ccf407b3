/**
 * What an answer of Temporal means for an update that nobody has confirmed yet: the machine is in reach, unless no order
 * of the update can reach it any more; and it decides what was verified, once the time for the commit is over.
 */

import { type CommitBy, decideByAnswer, isCommitOverdue, type Unconfirmed } from './unconfirmed';
import { messageOf } from '../../core/errors';
import type { Host } from '../host';
import type { Log } from '../log';

/** `decides` = what was verified stays; `nothing` = no order of the update can come, whoever answers. */
export type Answer = 'decides' | 'in reach' | 'nothing';

export class TemporalAnswers {
  #commitBy: CommitBy | undefined;
  /** The time, in milliseconds since 1970, that an answer has come after. */
  #decided: number | undefined;
  #unreached: string | undefined;
  readonly #host: Host;
  readonly #log: Log;

  constructor(host: Host, log: Log) {
    this.#host = host;
    this.#log = log;
  }

  /** To be called with what waits to be confirmed, whenever that was looked up; undefined = nothing does. */
  waitFor(update: Unconfirmed | undefined): void {
    this.#commitBy = update?.commitBy;
    const { unreached } = update ?? {};
    if (unreached !== undefined && unreached !== this.#unreached) {
      this.#log.error({ node: this.#host.node, reason: unreached }, 'no order of its update comes');
    }
    this.#unreached = unreached;
  }

  /** Whether the commit is to follow in a time that is known. */
  get isForCommit(): boolean {
    return this.#commitBy !== undefined;
  }

  /** Also of a look that finds the same time once more. */
  get isDecided(): boolean {
    return this.#commitBy !== undefined && this.#commitBy.at.getTime() === this.#decided;
  }

  /** Temporal answers. */
  came(): Answer {
    if (this.#unreached !== undefined) return 'nothing';
    const by = this.#commitBy;
    if (by !== undefined && !this.isDecided && isCommitOverdue(this.#host.ports, by)) {
      this.#decided = by.at.getTime();
      void this.#note(by);
    }
    return this.isDecided ? 'decides' : 'in reach';
  }

  /** Why the machine takes the update back. */
  because(otherwise: string): string {
    return this.#unreached ?? otherwise;
  }

  async #note(commitBy: CommitBy): Promise<void> {
    const { node, exclusive, ports } = this.#host;
    try {
      await exclusive(() => decideByAnswer(ports, commitBy));
    } catch (error) {
      // With the next answer.
      this.#decided = undefined;
      this.#log.warn({ node, reason: messageOf(error) }, 'cannot note that the update is decided');
    }
  }
}
