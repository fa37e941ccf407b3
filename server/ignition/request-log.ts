import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AddressLimit } from '../join-limit';

interface Line {
  pool?: string;
  config?: string;
  version?: string;
  tokenId?: string;
  /** Never sent. */
  reason?: string;
}

export const lines = new WeakMap<FastifyRequest, Line>();

/** Requests that are logged once a minute per address; each 429 is one, too. */
export const repeated = new WeakSet<FastifyRequest>();

/** The last byte of a first config is out. */
export const sending = new WeakMap<FastifyRequest, () => void>();

interface AnswerEvents {
  readonly dropped: (reason: CutReason) => void;
  readonly answered: (endpoint: string, code: number, seconds: number) => void;
}

export type CutReason = 'slow' | 'gone';

interface FollowOptions {
  readonly ms: number;
  readonly events: AnswerEvents;
  readonly tooMany: AddressLimit;
}

/** Cuts off a client that reads its answer too slowly. */
export function followAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { ms, events, tooMany }: FollowOptions,
): void {
  const { raw } = reply;
  const { socket } = request.raw;
  // Unknown after the connection is closed.
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
    // An unlogged request must not use up the limit of a logged one.
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
  // Content-Length is that of the config that they do not carry.
  const isBodiless = method === 'HEAD' || status === 304;
  const bytes = isBodiless ? 0 : Number(reply.getHeader('content-length') ?? 0);
  const fields = { method, status, address, bytes, complete: isComplete, ...line };
  if (status >= 400) request.log.warn(fields, 'no first config sent');
  else if (!isComplete) request.log.warn(fields, 'first config not received to its end');
  else if (isBodiless) request.log.info(fields, 'first config asked about, not sent');
  else request.log.info(fields, 'first config sent');
}
