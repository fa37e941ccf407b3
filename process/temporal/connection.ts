/**
 * The connection of a process to Temporal. A new connection uses renewed certificates and API keys,
 * and replaces the old one in clients and workers. Also states what `/readyz` waits for, and when
 * `/healthz` asks for a new process.
 */

import type { ConnectionLike } from '@temporalio/client';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../../core/errors';
import type { Logger } from '../logging';
import { askTemporal, type ContactEvents, watchContact } from './contact';
import { TemporalRequirements } from './requirements';
import { isDead, isOtherWorthATry, type Silence } from './dead-connection';
import type { ConnectionOptions } from './connection-options';
import { untilAvailable } from '../until-available';

/** A renewed certificate is used within this time, or at once when Temporal does not answer. */
const LOOK_MS = 60_000;
const TICK_MS = 5_000;
/** Limit for the first answer. */
const CONNECT_MS = 20_000;
/** Calls on a replaced connection end within this time. */
const LAST_CALLS_MS = 30_000;

interface TemporalConnectionOptions<C extends ConnectionLike> {
  readonly address: string;
  readonly namespace: string;
  readonly searchAttributes: readonly string[];
  readonly read: () => ConnectionOptions | Promise<ConnectionOptions>;
  /** At the start, too. */
  readonly waitsForFiles?: boolean;
  readonly connect: (target: ConnectionOptions) => Promise<C>;
  readonly log: Logger;
  readonly now?: () => number;
}

/** Serves as the connection of a client; a worker follows it. */
export class TemporalConnection<C extends ConnectionLike> implements ConnectionLike {
  readonly plugins: ConnectionLike['plugins'] = [];
  readonly #options: TemporalConnectionOptions<C>;
  readonly #now: () => number;
  readonly #needs: TemporalRequirements;
  readonly #followers = new Set<(connection: C) => void>();
  readonly #retired = new Map<C, NodeJS.Timeout>();
  #current: C;
  #target: ConnectionOptions;
  #lookedMs: number;
  #answeredMs: number;
  #silence: Silence | undefined;
  #refusal: string | undefined;

  /** @param connection - made with this target; it may be unconnected */
  constructor(options: TemporalConnectionOptions<C>, target: ConnectionOptions, connection: C) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#needs = new TemporalRequirements(this, options);
    this.#current = connection;
    this.#target = target;
    if (target.tls === undefined)
      options.log.warn(
        { server: `Temporal at ${options.address}` },
        'the connection is not encrypted',
      );
    this.#lookedMs = this.#answeredMs = this.#now();
  }

  /**
   * Waits for an absent server.
   *
   * @throws an `Error` that names an unreadable file, unless such files are waited for
   */
  static async open<C extends ConnectionLike>(
    options: TemporalConnectionOptions<C>,
    signal: AbortSignal,
  ): Promise<TemporalConnection<C>> {
    if (options.waitsForFiles !== true) await options.read();
    const { log, address } = options;
    const attempt = async (): Promise<TemporalConnection<C>> => {
      const target = await options.read();
      return new TemporalConnection(options, target, await options.connect(target));
    };
    return untilAvailable(`Temporal at ${address}`, attempt, { log, signal });
  }

  get connection(): C {
    return this.#current;
  }

  get workflowService(): ConnectionLike['workflowService'] {
    return this.#current.workflowService;
  }

  get operatorService(): ConnectionLike['operatorService'] {
    return this.#current.operatorService;
  }

  ensureConnected(): Promise<void> {
    return this.#current.ensureConnected();
  }

  withDeadline<R>(deadline: number | Date, work: () => Promise<R>): Promise<R> {
    return this.#current.withDeadline(deadline, work);
  }

  withMetadata<R>(
    metadata: Parameters<ConnectionLike['withMetadata']>[0],
    work: () => Promise<R>,
  ): Promise<R> {
    return this.#current.withMetadata(metadata, work);
  }

  withAbortSignal<R>(signal: AbortSignal, work: () => Promise<R>): Promise<R> {
    return this.#current.withAbortSignal(signal, work);
  }

  /**
   * Called with the current connection, and each replacement.
   * @returns a function that stops this
   */
  follow(follower: (connection: C) => void): () => void {
    follower(this.#current);
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Resolves when the namespace and its search attributes exist. */
  untilSetUp(signal: AbortSignal): Promise<void> {
    return this.#needs.untilMet(signal);
  }

  /** Asks Temporal and checks the files, until the signal aborts; never throws. */
  async watch(signal: AbortSignal, events: ContactEvents): Promise<void> {
    const contact = watchContact(this, signal, {
      ...events,
      onAnswer: () => {
        // After an absence, Temporal may have lost its namespace.
        if (this.#silence !== undefined) void this.#needs.untilMet(signal).catch(() => undefined);
        this.#answered();
        events.onAnswer();
      },
      onSilence: (reason) => {
        this.#silence ??= { sinceMs: this.#answeredMs, isOtherAnswered: false };
        events.onSilence(reason);
      },
    });
    while (!signal.aborted) {
      await delay(TICK_MS, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
    await contact;
  }

  async look(): Promise<void> {
    const nowMs = this.#now();
    if (this.#silence !== undefined || nowMs - this.#lookedMs >= LOOK_MS) {
      this.#lookedMs = nowMs;
      await this.#renew();
    }
    if (!isOtherWorthATry(this.#silence, nowMs)) return;
    const isOtherAnswered = await this.#isOtherAnswered();
    if (this.#silence !== undefined) this.#silence = { ...this.#silence, isOtherAnswered };
  }

  waitingFor(): readonly string[] {
    return [
      ...(this.#silence === undefined ? [] : [`Temporal at ${this.#options.address}`]),
      ...(this.#refusal === undefined
        ? []
        : [`a certificate or API key for Temporal that can be used (${this.#refusal})`]),
      ...this.#needs.waitingFor(),
    ];
  }

  /** Undefined = `/healthz` does not fail. */
  deathSentence(): string | undefined {
    if (!isDead(this.#silence, this.#now())) return undefined;
    return (
      `Temporal at ${this.#options.address} answers a new connection, and has not answered ` +
      'the one of this process for two minutes: restart the process'
    );
  }

  /** Call when no worker follows and nothing watches. */
  async close(): Promise<void> {
    const retired = [...this.#retired];
    this.#retired.clear();
    for (const [connection, timer] of retired) {
      clearTimeout(timer);
      await this.#close(connection);
    }
    await this.#current.close();
  }

  async #renew(): Promise<void> {
    const { log, address, read } = this.#options;
    try {
      const target = await read();
      if (!isDeepStrictEqual(target, this.#target)) {
        const connection = await this.#connect(target);
        this.#retire(this.#current);
        this.#current = connection;
        this.#target = target;
        this.#answered();
        for (const follower of this.#followers) follower(connection);
        log.info({ server: `Temporal at ${address}` }, 'certificate or API key renewed and in use');
      }
      this.#refusal = undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (this.#refusal === undefined)
        log.warn({ reason }, 'renewed certificate or API key for Temporal cannot be used');
      this.#refusal = reason;
    }
  }

  async #isOtherAnswered(): Promise<boolean> {
    try {
      const other = await this.#connect(await this.#options.read());
      const silence = await askTemporal(other);
      await this.#close(other);
      return silence === undefined;
    } catch (error) {
      this.#options.log.debug({ reason: messageOf(error) }, 'no other connection is answered');
      return false;
    }
  }

  /** A connection that comes too late is closed. */
  async #connect(target: ConnectionOptions): Promise<C> {
    const timeout = new AbortController();
    const late = delay(CONNECT_MS, undefined, { signal: timeout.signal, ref: false });
    const connecting = this.#options.connect(target);
    const first = await Promise.race([connecting, late]).finally(() => timeout.abort());
    if (first !== undefined) return first;
    connecting.then(
      (connection) => this.#close(connection),
      () => undefined,
    );
    throw new Error(`no answer within ${CONNECT_MS / 1000} s`);
  }

  #answered(): void {
    this.#answeredMs = this.#now();
    this.#silence = undefined;
  }

  #retire(connection: C): void {
    const timer = setTimeout(() => {
      this.#retired.delete(connection);
      void this.#close(connection);
    }, LAST_CALLS_MS);
    this.#retired.set(connection, timer.unref());
  }

  async #close(connection: C): Promise<void> {
    await connection.close().catch((error: unknown) => {
      this.#options.log.warn({ reason: messageOf(error) }, 'old connection does not close');
    });
  }
}

/** The SDK waits silently. */
export function tellSilence(address: string, log: Logger): ContactEvents {
  const server = `Temporal at ${address}`;
  let isSilent = false;
  return {
    onAnswer: () => {
      if (isSilent) log.info({ server }, 'server answers');
      isSilent = false;
    },
    onSilence: (reason) => {
      if (!isSilent) log.warn({ server, reason }, 'waiting for server');
      isSilent = true;
    },
    isUrgent: () => true,
  };
}
