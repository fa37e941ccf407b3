/**
 * HTTP to one API server: kept-alive connections, a limit of concurrent requests, and one log line
 * each when the server becomes unreachable and reachable.
 */

import { request as httpRequest, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { WebSocket } from 'ws';
import { failureName, messageOf } from '../../core/errors';
import { readStatus, refusal, unreachable } from './api-errors';
import type { Credentials, KubeEndpoint } from './credentials';

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: string;
  readonly contentType?: string;
  readonly what: string;
  readonly signal?: AbortSignal;
}

interface HttpReply {
  readonly code: number;
  readonly body: string;
  readonly retryAfter?: string;
}

interface TransportOptions {
  readonly userAgent: string;
  /** Without watches. */
  readonly maxRequests: number;
  readonly timeoutMs: number;
  /** A watch without a byte for this long has a dead connection or a hanging server. */
  readonly silenceMs: number;
  readonly log: Log;
}

/** Then credentials are read again. */
const CREDENTIALS_MS = 60_000;

export class Transport {
  readonly #endpoint: KubeEndpoint;
  readonly #options: TransportOptions;
  readonly #base: URL;
  #channel: { readonly made: Channel; readonly readAt: number } | undefined;
  #away = false;

  constructor(endpoint: KubeEndpoint, options: TransportOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#base = new URL(endpoint.server);
  }

  get server(): string {
    return this.#endpoint.server;
  }

  /**
   * Reads the whole reply, whatever its status code.
   *
   * @throws `ApiUnavailable` when there is no reply
   */
  async send(request: HttpRequest): Promise<HttpReply> {
    const channel = await this.#open(request.what);
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
    try {
      const reply = await readAll(await this.#exchange(request, channel, channel.requests, signal));
      this.#answered();
      return reply;
    } catch (error) {
      request.signal?.throwIfAborted();
      throw this.#lost(request.what, error);
    }
  }

  /**
   * Returns at the head of the reply, for watches. Aborting the signal ends the body; a silence of
   * `silenceMs` ends it with an error.
   */
  async stream(request: HttpRequest & { readonly signal: AbortSignal }): Promise<IncomingMessage> {
    const channel = await this.#open(request.what);
    const { silenceMs } = this.#options;
    const { signal } = request;
    try {
      const reply = await this.#exchange(request, channel, channel.watches, signal, silenceMs);
      // Detects a vanished peer within about a minute.
      reply.socket.setKeepAlive(true, 30_000);
      this.#answered();
      return reply;
    } catch (error) {
      request.signal.throwIfAborted();
      throw this.#lost(request.what, error);
    }
  }

  /**
   * A paused WebSocket, for what runs in pods. `ws` is loaded only then.
   *
   * @throws `ApiUnavailable` when there is no answer, and what the answer means when it is a refusal
   */
  async upgrade(
    request: Pick<HttpRequest, 'path' | 'what' | 'signal'>,
    query: URLSearchParams,
    protocol: string,
  ): Promise<WebSocket> {
    const { credentials } = await this.#open(request.what);
    const url = this.#url({ ...request, method: 'GET' });
    url.search = query.toString();
    url.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:';
    const { WebSocket } = await import('ws');
    const socket = new WebSocket(url, protocol, {
      ...credentials.tls,
      ...(credentials.agent === undefined ? {} : { agent: credentials.agent }),
      headers: { 'user-agent': this.#options.userAgent, ...credentials.headers },
      handshakeTimeout: this.#options.timeoutMs,
    });
    await opened(socket, request.what).catch((error: unknown) => {
      throw failureName(error) === undefined ? this.#lost(request.what, error) : error;
    });
    return socket;
  }

  close(): void {
    this.#channel?.made.close();
    this.#channel = undefined;
  }

  async #open(what: string): Promise<Channel> {
    const now = Date.now();
    if (this.#channel !== undefined && now - this.#channel.readAt < CREDENTIALS_MS) {
      return this.#channel.made;
    }
    let credentials: Credentials;
    try {
      credentials = await this.#endpoint.read();
    } catch (error) {
      throw this.#locked(what, error);
    }
    const previous = this.#channel?.made;
    const made = previous?.accepts(credentials)
      ? previous.with(credentials)
      : new Channel(this.#base, credentials, this.#options.maxRequests);
    this.#channel = { made, readAt: now };
    return made;
  }

  async #exchange(
    request: HttpRequest,
    channel: Channel,
    agent: HttpAgent,
    signal: AbortSignal,
    silenceMs?: number,
  ): Promise<IncomingMessage> {
    const options: RequestOptions = {
      method: request.method,
      agent,
      signal,
      ...(silenceMs === undefined ? {} : { timeout: silenceMs }),
      headers: {
        accept: 'application/json',
        'user-agent': this.#options.userAgent,
        ...channel.headers,
        ...(request.body === undefined
          ? {}
          : {
              'content-type': request.contentType ?? 'application/json',
              'content-length': Buffer.byteLength(request.body),
            }),
      },
    };
    const url = this.#url(request);
    try {
      return await exchange(url, options, request.body);
    } catch (error) {
      // The server has not seen the request.
      if (!isStaleConnection(error)) throw error;
      return exchange(url, options, request.body);
    }
  }

  #url(request: HttpRequest): URL {
    const url = new URL(this.#base.href.replace(/\/$/, '') + request.path);
    for (const [key, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    return url;
  }

  /** The last request got no answer. */
  get isAway(): boolean {
    return this.#away;
  }

  #answered(): void {
    if (!this.#away) return;
    this.#away = false;
    this.#options.log.info({ server: this.server }, 'Kubernetes API answers again');
  }

  #lost(what: string, error: unknown): Error {
    const reason = reasonOf(error);
    const fields = { server: this.server, reason };
    if (this.#away) this.#options.log.debug(fields, 'Kubernetes API still does not answer');
    else this.#options.log.warn(fields, 'Kubernetes API does not answer; waiting for it');
    this.#away = true;
    return unreachable(what, `the Kubernetes API at ${this.server} does not answer (${reason})`);
  }

  /** Nothing was sent: the server may be there, and a rotation may restore the files. */
  #locked(what: string, error: unknown): Error {
    const reason = messageOf(error);
    const about = 'credentials for the Kubernetes API';
    const fields = { server: this.server, reason };
    if (this.#away) this.#options.log.debug(fields, `${about} still cannot be read`);
    else this.#options.log.warn(fields, `${about} cannot be read; waiting for them`);
    this.#away = true;
    return unreachable(
      what,
      `the credentials for the Kubernetes API at ${this.server} cannot be read: ${reason}`,
    );
  }
}

class Channel {
  readonly requests: HttpAgent;
  readonly watches: HttpAgent;
  readonly #tls: string;
  readonly #proxied: boolean;

  constructor(
    base: URL,
    readonly credentials: Credentials,
    maxRequests: number,
    reuse?: Channel,
  ) {
    this.#tls = JSON.stringify(credentials.tls);
    this.#proxied = credentials.agent !== undefined;
    if (reuse !== undefined) {
      this.requests = reuse.requests;
      this.watches = reuse.watches;
      return;
    }
    const make = (options: { maxSockets?: number; keepAlive: boolean }): HttpAgent =>
      credentials.agent ??
      (base.protocol === 'http:'
        ? new HttpAgent(options)
        : new Agent({ ...options, ...credentials.tls }));
    this.requests = make({ keepAlive: true, maxSockets: maxRequests });
    this.watches = make({ keepAlive: false });
  }

  get headers(): Readonly<Record<string, string>> {
    return this.credentials.headers;
  }

  /** Only headers differ. */
  accepts(credentials: Credentials): boolean {
    return !this.#proxied && JSON.stringify(credentials.tls) === this.#tls;
  }

  with(credentials: Credentials): Channel {
    return new Channel(new URL('https://kept'), credentials, 0, this);
  }

  close(): void {
    this.requests.destroy();
    this.watches.destroy();
  }
}

function exchange(
  url: URL,
  options: RequestOptions,
  body: string | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    let reply: IncomingMessage | undefined;
    const request = send(url, options, (head) => {
      reply = head;
      resolve(head);
    });
    request.on('timeout', () => {
      (reply ?? request).destroy(new Error(`it sent nothing for ${seconds(options.timeout)} s`));
    });
    request.on('error', (error) => {
      reject(Object.assign(error, { reusedSocket: request.reusedSocket }));
    });
    request.end(body);
  });
}

/** A refusal has a body that says why. */
function opened(socket: WebSocket, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      // Nobody listens yet.
      socket.pause();
      resolve();
    });
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, reply) => {
      readAll(reply).then(
        ({ code, body }) => reject(refusal(what, readStatus(code, body))),
        (error: unknown) => reject(error as Error),
      );
    });
  });
}

function seconds(ms = 0): number {
  return Math.round(ms / 1000);
}

async function readAll(reply: IncomingMessage): Promise<HttpReply> {
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  const retryAfter = reply.headers['retry-after'];
  return {
    code: reply.statusCode ?? 0,
    body: Buffer.concat(chunks).toString('utf8'),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

function isStaleConnection(error: unknown): boolean {
  const failure = error as { code?: string; reusedSocket?: boolean };
  return (
    failure.reusedSocket === true && (failure.code === 'ECONNRESET' || failure.code === 'EPIPE')
  );
}

/** `ECONNREFUSED`, `TimeoutError`, or the message: never a secret. */
function reasonOf(error: unknown): string {
  if (typeof error === 'object' && error !== null) {
    if ('code' in error && typeof error.code === 'string' && error.code !== 'ABORT_ERR') {
      return error.code;
    }
    if ('cause' in error && error.cause !== undefined) return reasonOf(error.cause);
  }
  return messageOf(error);
}
