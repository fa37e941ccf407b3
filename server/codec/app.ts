/** `POST /decode`, as Temporal's UI and its CLI ask a remote codec. Requests can be injected; `start.ts` makes it listen. */

import type { PayloadCodec } from '@temporalio/common';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { z } from 'zod';
import { failureName, messageOf } from '../../core/errors';
import { createAddressLimit, OTHER_LIMIT } from '../join-limit';
import { later, refuse } from '../refusals';
import type { Judge } from './readers';

interface OpenCodecDependencies {
  readonly codec: Pick<PayloadCodec, 'decode'>;
  /** Of the UI. */
  readonly origin: string;
  readonly logger: FastifyBaseLogger;
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
}

interface CodecDependencies extends OpenCodecDependencies {
  readonly judge: Judge;
}

/** A page of a history. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const REQUEST_MS = 60_000;

const bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
const Body = z.object({
  payloads: z.array(
    z.object({
      metadata: z.record(z.string(), bytes).default({}),
      data: bytes.nullable().default(null),
    }),
  ),
});

/** For people whom the API server knows, and who may read payloads. */
export function createCodecApp({ judge, ...open }: CodecDependencies): FastifyInstance {
  const app = createOpenCodecApp(open);
  admitReaders(app, judge);
  return app;
}

/** For everybody who reaches it: only for development. */
export function createOpenCodecApp(dependencies: OpenCodecDependencies): FastifyInstance {
  const { codec, origin, logger, tls } = dependencies;
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_MS,
    ...(tls === undefined ? {} : { https: tls }),
  }) as unknown as FastifyInstance;
  admitOrigin(app, origin);
  answerInWords(app);
  app.post('/decode', async (request, reply) => {
    const asked = Body.safeParse(request.body);
    if (!asked.success) return refuse(reply, 400, 'BadRequest', 'these are no payloads');
    return { payloads: (await codec.decode(asked.data.payloads)).map(asJson) };
  });
  return app;
}

function asJson({ metadata, data }: { metadata?: object | null; data?: Uint8Array | null }) {
  const fields = Object.entries(metadata ?? {}) as [string, Uint8Array][];
  return {
    metadata: Object.fromEntries(fields.map(([name, value]) => [name, base64(value)])),
    ...(data == null ? {} : { data: base64(data) }),
  };
}

function base64(value: Uint8Array): string {
  return Buffer.from(value).toString('base64');
}

/** A browser asks first, without a token. Pages of other origins are refused, whatever token they send. */
function admitOrigin(app: FastifyInstance, origin: string): void {
  app.addHook('onRequest', async (request, reply) => {
    const asked = request.headers.origin;
    reply.header('vary', 'Origin').header('cache-control', 'no-store');
    if (asked === undefined) return undefined;
    if (asked !== origin) {
      return refuse(reply, 403, 'Forbidden', 'the page is not of the UI that may ask here');
    }
    reply
      .header('access-control-allow-origin', origin)
      .header('access-control-allow-methods', 'POST')
      .header('access-control-allow-headers', 'authorization, content-type, x-namespace')
      .header('access-control-max-age', '600');
    return request.method === 'OPTIONS' ? reply.code(204).send() : undefined;
  });
}

/** Before the body is read. */
function admitReaders(app: FastifyInstance, judge: Judge): void {
  const addresses = createAddressLimit(OTHER_LIMIT, () => performance.now());
  app.addHook('onRequest', async (request, reply) => {
    const wait = addresses.take(request.socket.remoteAddress ?? '');
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return refuse(reply, 429, 'TooManyRequests', 'too many requests; ask again later');
    }
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const reader = token === undefined ? undefined : await judge(token);
    if (reader === undefined) {
      reply.header('www-authenticate', 'Bearer');
      return refuse(reply, 401, 'Unauthorized', 'a bearer token of the cluster is needed');
    }
    const { username, mayRead } = reader;
    if (mayRead) return undefined;
    request.log.warn({ user: username }, 'payloads refused');
    return refuse(reply, 403, 'Forbidden', `${username} may not get payloads.slipway.dev`);
  });
}

function answerInWords(app: FastifyInstance): void {
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'NotFound', 'no such endpoint'));
  app.setErrorHandler((error, request, reply) => {
    const { statusCode = 500 } = error as { readonly statusCode?: number };
    if (failureName(error) === 'ApiUnavailable') {
      request.log.warn({ reason: messageOf(error) }, 'API server away');
      return later(reply, 'the Kubernetes API server does not answer', 'ApiUnavailable');
    }
    if (failureName(error) === 'PayloadUnreadable') {
      request.log.warn({ reason: messageOf(error) }, 'payloads cannot be read');
      return refuse(reply, 422, 'PayloadUnreadable', messageOf(error));
    }
    if (statusCode < 500) return refuse(reply, statusCode, 'BadRequest', messageOf(error));
    request.log.error({ err: error }, 'request failed');
    return refuse(reply, 500, 'Internal', 'the server failed; its log says why');
  });
}
