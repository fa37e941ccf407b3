/**
 * Commit-confirm before the reboot of an update, or without one until its commit: a machine that
 * has written files and reaches nobody rolls back in place.
 */

import { unconfirmedBeforeReboot, goBackInPlace } from './unconfirmed';
import { failureName, messageOf } from '../../core/errors';
import { TemporalAnswers } from './temporal-answers';
import { LEAST_SECONDS, portsAlone } from './after-reboot';
import type { Host } from '../host';
import { SilenceTimer } from './silence-timer';
import type { Log } from '../log';

interface Options {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** The default for orders without a number. */
  readonly seconds: number;
}

export class ConfirmBeforeReboot {
  /** In seconds; undefined = the machine waits for nothing. */
  #limit: number | undefined;
  readonly #answers: TemporalAnswers;
  #listener: (() => void) | undefined;
  readonly #silence = new SilenceTimer(() => void this.#goBack());
  readonly #host: Host;
  readonly #options: Options;

  constructor(host: Host, options: Options) {
    this.#host = host;
    this.#options = options;
    this.#answers = new TemporalAnswers(host, options.log);
  }

  get isAwaited(): boolean {
    return this.#limit !== undefined;
  }

  /** Called when the wait begins. @returns a function that stops this */
  onAwaited(listener: () => void): () => void {
    this.#listener = listener;
    return () => {
      if (this.#listener === listener) this.#listener = undefined;
    };
  }

  /** Call when an order that writes files begins: its first file may cut the machine off. */
  begin({ reconnectSeconds }: { readonly reconnectSeconds?: number }): void {
    if (this.#limit === undefined) this.#await(reconnectSeconds);
  }

  /** Call at the start and after each order, also a failed one. */
  async look(): Promise<void> {
    const { node, exclusive, ports } = this.#host;
    const { log } = this.#options;
    try {
      const found = await exclusive(() => unconfirmedBeforeReboot(ports));
      this.#answers.waitFor(found);
      if (found === undefined || this.#answers.isDecided) return this.#end();
      // The end of an order is no answer of Temporal: a running silence goes on.
      if (this.#limit !== this.#limitOf(found.reconnectSeconds))
        this.#await(found.reconnectSeconds);
    } catch (error) {
      log.error({ node, reason: messageOf(error) }, 'cannot roll back without an order');
      // A damaged journal allows no rollback.
      if (failureName(error) === 'RollbackFailed') this.#end();
    }
  }

  /** Temporal answers: the time starts anew, because the update may still cut the machine off. */
  contact(): void {
    const answer = this.#answers.came();
    if (answer === 'nothing') return;
    if (answer === 'decides') this.#end();
    if (this.#limit !== undefined) this.#silence.begin(this.#limit);
  }

  #limitOf(named: number | undefined): number {
    return Math.max(LEAST_SECONDS, named ?? this.#options.seconds);
  }

  #await(named: number | undefined): void {
    const limit = this.#limitOf(named);
    const { log } = this.#options;
    log.debug(
      { node: this.#host.node, seconds: limit },
      'Temporal must not be out of reach for longer',
    );
    this.#limit = limit;
    this.#silence.begin(limit);
    this.#listener?.();
  }

  #end(): void {
    this.#silence.end();
    this.#limit = undefined;
  }

  async #goBack(): Promise<void> {
    const { node, exclusive } = this.#host;
    const { log, signal } = this.#options;
    const why = this.#answers.because(
      `Temporal was out of reach for ${this.#limit} s after the update was written`,
    );
    const because = `${why}, so the machine rolled it back`;
    const ports = portsAlone(this.#host, this.#options, (reason) =>
      log.error({ node, reason }, 'the rollback needs a reboot, which no order has requested'),
    );
    try {
      const isBack = await exclusive(async () => {
        // Temporal may have answered while an order was running.
        if (signal.aborted || !this.#silence.isOver) return false;
        log.warn({ node, reason: because }, 'rolling back in place');
        return goBackInPlace(ports, because);
      });
      if (isBack) this.#end();
    } catch (error) {
      log.error({ node, reason: messageOf(error) }, 'the rollback did not end; it is tried again');
      // While the machine is cut off, no order arrives.
      if (this.#limit !== undefined) this.#silence.begin(this.#limit);
    }
  }
}
