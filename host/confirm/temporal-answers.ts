/**
 * The effect of an answer of Temporal on an unconfirmed update: the machine is in reach, unless no
 * order of the update can reach it. After the time for its commit, a verified update stays.
 */

import { type CommitBy, decideByAnswer, isCommitOverdue, type Unconfirmed } from './unconfirmed';
import { messageOf } from '../../core/errors';
import type { Host } from '../host';
import type { Log } from '../log';

/** `decides` = the verified update stays; `nothing` = no order of the update can arrive. */
type Answer = 'decides' | 'in reach' | 'nothing';

export class TemporalAnswers {
  #commitBy: CommitBy | undefined;
  /** The commit time (ms since 1970) after which an answer came. */
  #decided: number | undefined;
  #unreached: string | undefined;
  readonly #host: Host;
  readonly #log: Log;

  constructor(host: Host, log: Log) {
    this.#host = host;
    this.#log = log;
  }

  /** Undefined = no update waits for confirmation. */
  waitFor(update: Unconfirmed | undefined): void {
    this.#commitBy = update?.commitBy;
    const { unreached } = update ?? {};
    if (unreached !== undefined && unreached !== this.#unreached) {
      this.#log.error(
        { node: this.#host.node, reason: unreached },
        'no order of its update arrives',
      );
    }
    this.#unreached = unreached;
  }

  /** A commit with a known deadline is to follow. */
  get isForCommit(): boolean {
    return this.#commitBy !== undefined;
  }

  /** Also true when a later check finds the same deadline. */
  get isDecided(): boolean {
    return this.#commitBy !== undefined && this.#commitBy.at.getTime() === this.#decided;
  }

  came(): Answer {
    if (this.#unreached !== undefined) return 'nothing';
    const by = this.#commitBy;
    if (by !== undefined && !this.isDecided && isCommitOverdue(this.#host.ports, by)) {
      this.#decided = by.at.getTime();
      void this.#note(by);
    }
    return this.isDecided ? 'decides' : 'in reach';
  }

  because(otherwise: string): string {
    return this.#unreached ?? otherwise;
  }

  async #note(commitBy: CommitBy): Promise<void> {
    const { node, exclusive, ports } = this.#host;
    try {
      await exclusive(() => decideByAnswer(ports, commitBy));
    } catch (error) {
      // Tried again with the next answer.
      this.#decided = undefined;
      this.#log.warn(
        { node, reason: messageOf(error) },
        'cannot record that the update is decided',
      );
    }
  }
}
