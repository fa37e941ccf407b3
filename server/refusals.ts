/** Answers that are no success, in one form. */

import type { FastifyReply } from 'fastify';

/** How long a host waits before it asks again when the server cannot decide yet. */
const RETRY_AFTER_SECONDS = 5;

/** The part of a reply that a refusal needs: Fastify's own hooks give no more of its type. */
export interface Refusable {
  code(code: number): FastifyReply;
}

/** @param message - without anything that came with the request */
export function refuse(
  reply: Refusable,
  code: number,
  reason: string,
  message: string,
): FastifyReply {
  return reply.code(code).send({ status: code, reason, message });
}

/** The answer may be another one soon: a refusal would be final. */
export function later(reply: FastifyReply, message: string, reason = 'NotReady'): FastifyReply {
  reply.header('retry-after', String(RETRY_AFTER_SECONDS));
  return refuse(reply, 503, reason, message);
}
