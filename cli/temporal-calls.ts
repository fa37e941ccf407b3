/**
 * Calls to Temporal with a time limit, ended by Ctrl-C; faults get the CLI's messages and exit
 * codes.
 */

import {
  type ConnectionLike,
  isGrpcServiceError,
  NamespaceNotFoundError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { SETUP_COMMAND } from '../process/temporal/requirements';
import { SEARCH_ATTRIBUTE_NAMES } from '../workflows/contracts/search-attributes';
import { cliError, EXIT } from './exit-codes';

interface TemporalCallsOptions {
  readonly connection: Pick<ConnectionLike, 'withDeadline' | 'withAbortSignal'>;
  readonly address: string;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Temporal itself answers in milliseconds. */
const SERVER_MS = 10_000;
/** A watch repeats a query. */
const QUERY_MS = 10_000;
/** A cluster worker gets time to restart. */
const UPDATE_MS = 30_000;

/** These name a missing server; other codes are answers. */
const CODE = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  FAILED_PRECONDITION: 9,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

interface Question {
  readonly limitMs: number;
  /** A cluster worker answers for it; absent = Temporal answers. */
  readonly workflow?: string;
  /** Without an answer its outcome is unknown. */
  readonly isRequest?: boolean;
}

export class TemporalCalls {
  readonly #options: TemporalCallsOptions;
  readonly #ended = new AbortController();
  readonly #open = new Set<Promise<unknown>>();

  constructor(options: TemporalCallsOptions) {
    this.#options = options;
  }

  async ofServer<T>(call: () => Promise<T>): Promise<T> {
    return this.#ask({ limitMs: SERVER_MS }, call);
  }

  async ofWorker<T>(workflow: string, call: () => Promise<T>): Promise<T> {
    return this.#ask({ limitMs: QUERY_MS, workflow }, call);
  }

  async request<T>(workflow: string, call: () => Promise<T>): Promise<T> {
    return this.#ask({ limitMs: UPDATE_MS, workflow, isRequest: true }, call);
  }

  /** The client would send a call again after its connection closed. */
  async end(): Promise<void> {
    this.#ended.abort();
    await Promise.allSettled(this.#open);
  }

  async #ask<T>(question: Question, call: () => Promise<T>): Promise<T> {
    const { connection, signal } = this.#options;
    const ended = AbortSignal.any([signal, this.#ended.signal]);
    if (ended.aborted) throw this.#interrupted(question);
    const answer = connection.withAbortSignal(ended, () =>
      connection.withDeadline(Date.now() + question.limitMs, call),
    );
    this.#open.add(answer);
    try {
      return await answer;
    } catch (error) {
      throw this.#inWords(error, question);
    } finally {
      this.#open.delete(answer);
    }
  }

  /** Any other error is the answer and stays. */
  #inWords(error: unknown, question: Question): unknown {
    const { address, namespace } = this.#options;
    if (error instanceof NamespaceNotFoundError) {
      return cliError(
        EXIT.USAGE,
        `Temporal at ${address} has no namespace ${namespace}; ` +
          `name the right one with --temporal-namespace, or make it: ${SETUP_COMMAND}`,
      );
    }
    const fault = faultOf(error);
    if (fault === undefined) return error;
    const { code, details } = fault;
    const isOfWorker = question.workflow !== undefined;
    switch (code) {
      case CODE.NOT_FOUND:
        return error;
      case CODE.CANCELLED:
        return this.#interrupted(question);
      case CODE.DEADLINE_EXCEEDED:
        return isOfWorker ? noWorker(question) : this.#silent();
      case CODE.FAILED_PRECONDITION:
        return isOfWorker ? noWorker(question, ` (${details})`) : this.#refused(details);
      case CODE.UNAVAILABLE:
        return this.#silent();
      case CODE.INVALID_ARGUMENT:
        return this.#refused(isOfSearchAttributes(details) ? `${details}; ${MAKE_THEM}` : details);
      case CODE.PERMISSION_DENIED:
      case CODE.UNAUTHENTICATED:
        return this.#refused(`${details}; check --temporal-api-key and the certificates`);
      default:
        return cliError(EXIT.UNREACHABLE, `Temporal at ${address} cannot answer: ${details}`);
    }
  }

  /** A watch prints the same sentence once. */
  #silent(): Error {
    return cliError(
      EXIT.UNREACHABLE,
      `Temporal at ${this.#options.address} does not answer; ` +
        'check that it runs, or name it with --temporal-address',
    );
  }

  #refused(details: string): Error {
    return cliError(EXIT.FAILED, `Temporal at ${this.#options.address} refuses: ${details}`);
  }

  #interrupted(question: Question): Error {
    const whom =
      question.workflow === undefined ? `Temporal at ${this.#options.address}` : 'a cluster worker';
    return cliError(
      EXIT.UNREACHABLE,
      `interrupted before ${whom} answered${question.isRequest === true ? `; ${MAY_STILL}` : ''}`,
    );
  }
}

const MAKE_THEM = `make the search attributes that are missing: ${SETUP_COMMAND}`;

const MAY_STILL = 'the request may still be carried out';

function noWorker({ workflow, isRequest }: Question, why = ''): Error {
  return cliError(
    EXIT.UNREACHABLE,
    `no cluster worker answers for ${workflow}${why}; see whether one runs: ` +
      `kubectl -n slipway get deployment slipway-cluster-worker${
        isRequest === true ? `; ${MAY_STILL} when one does` : ''
      }`,
  );
}

function faultOf(error: unknown): { readonly code: number; readonly details: string } | undefined {
  let cause = error;
  while (typeof cause === 'object' && cause !== null) {
    if (isGrpcServiceError(cause)) return { code: cause.code, details: cause.details };
    cause = 'cause' in cause ? cause.cause : undefined;
  }
  return error instanceof WorkflowUpdateRPCTimeoutOrCancelledError
    ? { code: CODE.CANCELLED, details: error.message }
    : undefined;
}

function isOfSearchAttributes(details: string): boolean {
  return SEARCH_ATTRIBUTE_NAMES.some((name) => details.includes(name));
}
