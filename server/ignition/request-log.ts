/** What becomes of a request: one line of the log, and what is counted, once its answer is out or cut off. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AddressLimit } from '../join-limit';

/** What the log says of a request when it is over. */
export interface Line {
  pool?: string;
  config?: string;
  version?: string;
  tokenId?: string;
  /** Why it was refused; never sent. */
  reason?: string;
}

/** Of requests for configs. */
export const lines = new WeakMap<FastifyRequest, Line>();

/** Of which the log needs one a minute of each address; all with a 429 are such. */
export const repeated = new WeakSet<FastifyRequest>();

/** What is said when the last byte of a first config is out. */
export const sending = new WeakMap<FastifyRequest, () => void>();

/** What is counted of answers. */
export interface AnswerEvents {
  readonly dropped: (reason: CutReason) => void;
  /** Any request that got its whole answer. */
  readonly answered: (endpoint: string, code: number, seconds: number) => void;
}

/** Why an answer did not go out whole: it took too long, or the client went away. */
export type CutReason = 'slow' | 'gone';

export interface FollowOptions {
  /** An answer that takes longer is cut off. */
  readonly ms: number;
  readonly events: AnswerEvents;
  /** How often an address that asks too often is named in the log. */
  readonly tooMany: AddressLimit;
}

/**
 * Says of a request what became of it once its answer is out, or the client is gone. A client that takes
 * its answer byte by byte must not hold a connection for ever.
 */
export function followAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { ms, events, tooMany }: FollowOptions,
): void {
  const { raw } = reply;
  const { socket } = request.raw;
  // Nobody knows it any more when the connection is closed.
  const address = socket.remoteAddress;
  let cut: CutReason = 'gone';
  const timer = setTimeout(() => {
    cut = 'slow';
    socket.destroy();
  }, ms);
  timer.unref();
  let isComplete = false;
  raw.once('finish', () => {
    isComplete = !socket.destroyed;
  });
  raw.once('close', () => {
    clearTimeout(timer);
    // What has no line anyway must not take the place of what has one.
    const isRepeated = reply.statusCode === 429 || repeated.has(request);
    const isNamed = lines.has(request) && (!isRepeated || tooMany.take(address ?? '') === 0);
    if (isNamed) logRequest(request, reply, { address, isComplete });
    if (!isComplete) return events.dropped(cut);
    sending.get(request)?.();
    const endpoint = lines.has(request) ? '/config/:pool' : 'other';
    events.answered(endpoint, reply.statusCode, reply.elapsedTime / 1000);
  });
}

function logRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { address, isComplete }: { readonly address: string | undefined; readonly isComplete: boolean },
): void {
  const line = lines.get(request);
  if (line === undefined) return;
  const { method } = request;
  const { statusCode: status } = reply;
  // Both have the length of the config that they do not hold.
  const isBodiless = method === 'HEAD' || status === 304;
  const bytes = isBodiless ? 0 : Number(reply.getHeader('content-length') ?? 0);
  const fields = { method, status, address, bytes, complete: isComplete, ...line };
  if (status >= 400) request.log.warn(fields, 'no first config sent');
  else if (!isComplete) request.log.warn(fields, 'first config not taken to its end');
  else if (isBodiless) request.log.info(fields, 'first config asked about, not sent');
  else request.log.info(fields, 'first config sent');
}
