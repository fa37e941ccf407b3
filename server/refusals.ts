import type { FastifyReply } from 'fastify';

/** Seconds until a host asks again when the server cannot decide yet. */
const RETRY_AFTER_SECONDS = 5;

/** The part of a reply that a refusal needs, as Fastify's hooks type it. */
export interface Refusable {
  code(code: number): FastifyReply;
}

/** @param message - without data of the request */
export function refuse(
  reply: Refusable,
  code: number,
  reason: string,
  message: string,
): FastifyReply {
  return reply.code(code).send({ status: code, reason, message });
}

/** For answers that may change soon; a refusal is final for the host. */
export function later(reply: FastifyReply, message: string, reason = 'NotReady'): FastifyReply {
  reply.header('retry-after', String(RETRY_AFTER_SECONDS));
  return refuse(reply, 503, reason, message);
}
