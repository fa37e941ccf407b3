import type { ClientRequest } from 'node:http';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { Credentials } from './certificates';

interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  /** The server asks for a retry, and has not done anything. */
  readonly retryAfterSeconds?: number;
}

/** Status 400 or more. */
interface ApiError extends Error {
  readonly status: number;
}

/** For setting up a cluster. Bodies are JSON. Everything else uses the official client. */
export interface ApiClient {
  /** Returns the answer, whatever its status. */
  send(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /**
   * When the server asks for a retry, as while its storage initializes, sends the request again,
   * ten times at most, as client-go does.
   *
   * @throws ApiError for status 400 and more
   */
  call<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  close(): void;
}

const TIMEOUT_MS = 30_000;
/** As client-go's `Request.maxRetries` (rest/request.go). */
const MAX_RETRIES = 10;

/** Anonymous without a certificate. */
export function createApiClient(
  server: string,
  authority: string,
  credentials?: Credentials,
): ApiClient {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 16,
    ca: authority,
    ...(credentials === undefined ? {} : { cert: credentials.certificate, key: credentials.key }),
  });

  const exchange = (method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
    new Promise((resolve, reject) => {
      const patch = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const outgoing = request(new URL(path, server), {
        agent,
        method,
        timeout: TIMEOUT_MS,
        headers: body === undefined ? {} : { 'content-type': patch },
      });
      outgoing.once('timeout', () => {
        outgoing.destroy(new Error(`${method} ${path} took more than ${TIMEOUT_MS / 1000} s`));
      });
      outgoing.once('error', (error) => {
        reject(new LostRequest(`${method} ${path}: ${error.message}`, outgoing, error));
      });
      outgoing.once('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.once('error', reject);
        response.once('end', () => {
          const seconds = response.headers['retry-after'];
          const again = seconds === undefined ? {} : { retryAfterSeconds: Number(seconds) };
          resolve({ status: response.statusCode ?? 0, text, ...again });
        });
      });
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });

  const send = async (method: string, path: string, body?: unknown): Promise<ApiAnswer> => {
    try {
      return await exchange(method, path, body);
    } catch (error) {
      if (!(error instanceof LostRequest) || !error.unseen) throw error;
      return exchange(method, path, body);
    }
  };

  return {
    send,
    call: async <T>(method: string, path: string, body?: unknown): Promise<T> => {
      let answer = await send(method, path, body);
      for (let retry = 0; retry < MAX_RETRIES && isToComeAgain(answer); retry += 1) {
        await delay(answer.retryAfterSeconds * 1000);
        answer = await send(method, path, body);
      }
      if (answer.status >= 400) throw apiError(method, path, answer);
      return JSON.parse(answer.text) as T;
    },
    close: () => {
      agent.destroy();
    },
  };
}

class LostRequest extends Error {
  /** The server closed an idle connection as it was reused. */
  readonly unseen: boolean;

  constructor(message: string, { reusedSocket }: ClientRequest, cause: NodeJS.ErrnoException) {
    super(message, { cause });
    this.unseen = reusedSocket && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE');
  }
}

/** A budget refuses with the same status, and without a time. */
function isToComeAgain(
  answer: ApiAnswer,
): answer is ApiAnswer & { readonly retryAfterSeconds: number } {
  return answer.status === 429 && answer.retryAfterSeconds !== undefined;
}

function apiError(method: string, path: string, answer: ApiAnswer): ApiError {
  const error = new Error(`${method} ${path}: ${answer.status} ${reasonIn(answer.text)}`);
  return Object.assign(error, { status: answer.status });
}

function reasonIn(text: string): string {
  try {
    const status: unknown = JSON.parse(text);
    if (typeof status === 'object' && status !== null && 'message' in status) {
      return String(status.message);
    }
  } catch {
    // not JSON: a proxy or a server that is starting
  }
  return text.slice(0, 300);
}
