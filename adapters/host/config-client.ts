/** Fetches rendered configs from the host endpoint with the node's own certificate. */

import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { fail } from '../../core/errors';

export interface ConfigClientOptions {
  /** Base URL of the host endpoint: `https://host:port`. */
  readonly url: string;
  /** PEM files; read for each fetch, so that a rotated certificate is used at once. */
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly authorityFile: string;
  readonly timeoutMs?: number;
}

export interface ConfigClient {
  /**
   * The bytes of a rendered config, as the server sent them; the caller checks the digest.
   *
   * @throws `ConfigFetchFailed` when the server cannot be reached or is not ready, `ConfigForbidden`
   * when it refuses this node or this config
   */
  fetch(name: string, signal?: AbortSignal): Promise<Buffer>;
}

/** More than the API server can store; a bigger answer is not a config. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A client of one host. Opens a connection per fetch: a host fetches once per update. */
export function createConfigClient(options: ConfigClientOptions): ConfigClient {
  return {
    async fetch(name, signal) {
      const url = new URL(`/host/configs/${encodeURIComponent(name)}`, options.url);
      const answer = await get(url, options, signal).catch((error: unknown) => {
        if (signal?.aborted === true) throw error;
        throw Object.assign(
          fail('ConfigFetchFailed', `fetch ${name} from ${url.host}: ${textOf(error)}`, {
            config: name,
          }),
          { cause: error },
        );
      });
      if (answer.status === 200) return answer.body;
      throw refusalOf(name, url.host, answer);
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function refusalOf(name: string, host: string, answer: Answer): Error {
  const text = `fetch ${name} from ${host}: ${answer.status} ${messageIn(answer.body)}`.trim();
  const details = { config: name, status: answer.status };
  // 404 too may heal: the server's view can be a moment behind the render controller.
  return answer.status === 401 || answer.status === 403
    ? fail('ConfigForbidden', text, details)
    : fail('ConfigFetchFailed', text, details);
}

/** The server's own sentence; anything else could be a stranger's page. */
function messageIn(body: Buffer): string {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed) {
      return String(parsed.message).slice(0, 500);
    }
    return '';
  } catch {
    // Not JSON: the status says enough.
    return '';
  }
}

async function get(url: URL, options: ConfigClientOptions, signal?: AbortSignal): Promise<Answer> {
  const [cert, key, ca] = await Promise.all([
    readFile(options.certificateFile),
    readFile(options.keyFile),
    readFile(options.authorityFile),
  ]);
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        cert,
        key,
        ca,
        agent: false,
        minVersion: 'TLSv1.2',
        timeout: options.timeoutMs ?? 30_000,
        ...(signal === undefined ? {} : { signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_BYTES)
            response.destroy(new Error(`answer of more than ${MAX_BYTES} bytes`));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }),
        );
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end();
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
