import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { trustedAuthorities, type TrustFiles } from './server-authority';

export interface EndpointOptions extends TrustFiles {
  /** `https://host:port` of the host endpoint. */
  readonly url: string;
  /** PEM, read per request, so that a rotated certificate is used at once. */
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly timeoutMs?: number;
}

export interface EndpointAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly retryAfter?: number;
}

/** A larger answer is not from the endpoint. */
const MAX_BYTES = 16 * 1024 * 1024;

interface EndpointInput {
  readonly signal?: AbortSignal | undefined;
  /** JSON; without `put` and `patch` the request is a GET. */
  readonly put?: object;
  /** A strategic merge patch. */
  readonly patch?: object;
  /** Silence, ms; default: that of the options. */
  readonly timeoutMs?: number;
}

/** A connection per request, because a host asks seldom. @throws when there is no answer */
export async function askEndpoint(
  path: string,
  options: EndpointOptions,
  input: EndpointInput = {},
): Promise<EndpointAnswer> {
  const [cert, key, ca] = await Promise.all([
    readFile(options.certificateFile),
    readFile(options.keyFile),
    trustedAuthorities(options),
  ]);
  const sending = input.put ?? input.patch;
  const body = sending === undefined ? undefined : Buffer.from(JSON.stringify(sending));
  const isPatch = input.put === undefined && input.patch !== undefined;
  const type = isPatch ? 'application/strategic-merge-patch+json' : 'application/json';
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, options.url),
      {
        cert,
        key,
        ca: [...ca],
        agent: false,
        minVersion: 'TLSv1.2',
        timeout: input.timeoutMs ?? options.timeoutMs ?? 30_000,
        method: body === undefined ? 'GET' : isPatch ? 'PATCH' : 'PUT',
        ...(body === undefined
          ? {}
          : { headers: { 'content-type': type, 'content-length': body.length } }),
        ...(input.signal === undefined ? {} : { signal: input.signal }),
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
        response.on('end', () => {
          const retryAfter = Number(response.headers['retry-after'] ?? Number.NaN);
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks),
            ...(Number.isFinite(retryAfter) ? { retryAfter } : {}),
          });
        });
      },
    );
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Any other body could come from a stranger. */
export function messageIn(body: Buffer): string {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed) {
      return String(parsed.message).slice(0, 500);
    }
    return '';
  } catch {
    // The body is not JSON; the status is enough.
    return '';
  }
}
