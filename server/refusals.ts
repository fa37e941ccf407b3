import type { FastifyReply } from 'fastify';

/** For when the server cannot decide yet. */
const RETRY_AFTER_SECONDS = 5;

/** As Fastify's hooks type a reply. */
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

/** A refusal is final for the host; this is not. */
export function later(reply: FastifyReply, message: string, reason = 'NotReady'): FastifyReply {
  reply.header('retry-after', String(RETRY_AFTER_SECONDS));
  return refuse(reply, 503, reason, message);
}
