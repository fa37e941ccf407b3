/** Refusals of the host endpoint before any route. */

import { METHODS } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { refuse, type Refusable } from './refusals';
import {
  answerOddRequests,
  refusalOf,
  refuseUnreadable,
  type RefusalStatus,
  type Wording,
} from './malformed-requests';

const REASONS: Readonly<Record<RefusalStatus | 505, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'this is not an HTTP request'],
  405: ['MethodNotAllowed', 'the endpoint has no such method'],
  408: ['RequestTimeout', 'the request did not come in time'],
  417: ['ExpectationFailed', 'Expect may only be 100-continue'],
  431: ['HeadersTooLarge', 'the headers are too long'],
  505: ['VersionNotSupported', 'HTTP/1.1 is the only version'],
};

/** For requests with a method that the parser does not know. */
const ALL_METHODS = 'GET, HEAD, PUT';

function wordingOf(status: RefusalStatus): Wording {
  const [reason, message] = REASONS[status];
  return {
    headers: {
      'content-type': 'application/json; charset=utf-8',
      ...(status === 405 ? { allow: ALL_METHODS } : {}),
    },
    body: JSON.stringify({ status, reason, message }),
  };
}

/** For Fastify's `frameworkErrors`: a path that cannot be decoded. */
export function refuseBadUrl(_error: unknown, _request: unknown, reply: Refusable): void {
  refuse(reply, 400, 'BadRequest', 'the path cannot be decoded');
}

export const refuseUnreadableHost = refuseUnreadable(wordingOf);

/** Requests that Node does not pass on, without Host header, or of another HTTP version. */
export function refuseOddRequests(host: FastifyInstance): void {
  answerOddRequests(host.server as unknown as HttpsServer, wordingOf);
  host.addHook('onRequest', async ({ raw }, reply) => {
    const status = refusalOf(raw);
    if (status === undefined) return undefined;
    reply.header('connection', 'close');
    const [reason, message] = status === 400 ? ['BadRequest', 'name one host'] : REASONS[status];
    return refuse(reply, status, reason, message);
  });
  // Fastify finds no route for a method that only Node's parser knows.
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !host.supportedMethods.includes(method)) host.addHttpMethod(method);
  }
}

/**
 * 405, before a body is read.
 *
 * @param allowed - methods that have a route there
 */
export function refuseOtherMethods(
  host: FastifyInstance,
  url: string,
  allowed: readonly string[],
): void {
  const methods = allowed.join(', ');
  const answer = async (_request: unknown, reply: FastifyReply) =>
    refuse(reply.header('allow', methods), 405, 'MethodNotAllowed', `this takes ${methods}`);
  host.route({
    method: host.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    exposeHeadRoute: false,
    onRequest: answer,
    handler: answer,
  });
}
