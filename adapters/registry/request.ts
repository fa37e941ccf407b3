/** One GET from a registry or from where it sends the reader. */

import { get as getPlain, type IncomingMessage, type RequestOptions } from 'node:http';
import { get as getSecure } from 'node:https';
import { getCACertificates } from 'node:tls';

export interface Trust {
  /** PEM, beside the authorities that Node knows. */
  readonly authorities: readonly string[];
  /** Plain HTTP, and certificates that nobody checks, are accepted. */
  readonly insecure: boolean;
}

interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly trust: Trust;
  readonly signal: AbortSignal;
}

const MAX_REDIRECTS = 5;
const SILENCE_MS = 30_000;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Follows redirects; the authorization stays with the registry. @throws when there is no answer */
export async function getFrom(url: URL, request: Request): Promise<IncomingMessage> {
  let at = url;
  for (let left = MAX_REDIRECTS; ; left -= 1) {
    const { authorization, ...others } = request.headers;
    const isSame = at.origin === url.origin;
    const headers =
      isSame && authorization !== undefined ? { ...others, authorization } : { ...others };
    const answer = await getOnce(at, { ...request, headers });
    const { location } = answer.headers;
    if (!REDIRECTS.includes(answer.statusCode ?? 0) || location === undefined) return answer;
    answer.resume();
    const next = new URL(location, at);
    if (left === 0) throw new Error(`more than ${MAX_REDIRECTS} redirects`);
    if (at.protocol === 'https:' && next.protocol !== 'https:') {
      throw new Error(`a redirect to ${next.origin}, which is not encrypted`);
    }
    at = next;
  }
}

function getOnce(url: URL, { headers, trust, signal }: Request): Promise<IncomingMessage> {
  const options: RequestOptions = { headers, signal, timeout: SILENCE_MS };
  const secure = {
    ...(trust.authorities.length === 0
      ? {}
      : { ca: [...getCACertificates(), ...trust.authorities] }),
    ...(trust.insecure ? { rejectUnauthorized: false } : {}),
  };
  return new Promise((resolve, reject) => {
    const sent =
      url.protocol === 'https:'
        ? getSecure(url, { ...options, ...secure }, resolve)
        : getPlain(url, options, resolve);
    sent.once('timeout', () => sent.destroy(new Error(`silent for ${SILENCE_MS / 1000} s`)));
    sent.once('error', reject);
  });
}

export async function textOf(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`an answer of more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
