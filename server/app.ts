/**
 * The server as values: the host endpoint for its TLS port, and health and metrics for a plain one.
 * Requests can be injected into both; `main.ts` makes them listen.
 */

import type { TLSSocket } from 'node:tls';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { failureName, messageOf } from '../core/errors';
import { mayRead, nodeOfPeer } from './access';
import { createConfigStore } from './config-store';
import { createServerMetrics, type ServerMetrics } from './metrics';
import type { ClusterView, PeerSubject, ReadMachineConfig } from './ports';
import type { HostTls } from './tls';

export interface ServerDependencies {
  readonly cluster: ClusterView;
  readonly readMachineConfig: ReadMachineConfig;
  readonly logger: FastifyBaseLogger;
  /** Key, certificate and client authority of the host endpoint; absent = requests are injected. */
  readonly tls?: HostTls;
  /** Bytes of rendered configs to keep in memory. */
  readonly maxConfigBytes?: number;
  /** Who sent a request; the default reads the verified client certificate. */
  readonly identify?: (request: FastifyRequest) => PeerSubject | undefined;
}

export interface Server {
  /** `GET /host/configs/<name>`, mutual TLS. */
  readonly host: FastifyInstance;
  /** `GET /healthz`, `/readyz`, `/metrics`. */
  readonly plain: FastifyInstance;
}

/** Rendered configs are named like every Kubernetes object. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** How long a host waits before it asks again when the server cannot decide yet. */
const RETRY_AFTER_SECONDS = 5;

/** Builds both applications; opens nothing. */
export function buildServer(dependencies: ServerDependencies): Server {
  const store = createConfigStore(dependencies.readMachineConfig, {
    maxBytes: dependencies.maxConfigBytes,
  });
  const metrics = createServerMetrics(store);
  const { logger } = dependencies;
  const options = {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 1024,
  };
  const host: FastifyInstance =
    dependencies.tls === undefined
      ? Fastify(options)
      : Fastify({ ...options, https: dependencies.tls });
  const plain = Fastify(options);

  for (const app of [host, plain]) observe(app, metrics);
  const identify = dependencies.identify ?? peerOf;

  host.get<{ Params: { name: string } }>('/host/configs/:name', async (request, reply) => {
    const nodeName = nodeOfPeer(identify(request));
    if (nodeName === undefined) {
      return refuse(reply, 401, 'NotANode', 'the client certificate is not that of a node');
    }
    const { cluster } = dependencies;
    const missing = cluster.missing();
    if (missing.length > 0) return later(reply, `not seen yet: ${missing.join(', ')}`);
    const { name } = request.params;
    if (!OBJECT_NAME.test(name)) {
      return refuse(reply, 400, 'BadName', 'this is not the name of a rendered config');
    }
    const config = await store.get(name);
    const line = { node: nodeName, config: name };
    if (config === undefined) {
      request.log.info(line, 'config not found');
      return refuse(reply, 404, 'NotFound', `there is no config ${name}`);
    }
    const node = cluster.node(nodeName);
    // A node that registers may be faster than the watch; one that is gone asks in vain.
    if (node === undefined) return later(reply, `node ${nodeName} is not known to the cluster`);
    const verdict = mayRead({ nodeName, node, pools: cluster.pools(), config });
    if (!verdict.allowed) {
      request.log.warn({ ...line, reason: verdict.reason }, 'config refused');
      return refuse(reply, 403, 'Forbidden', verdict.reason);
    }
    const etag = `"${config.digest}"`;
    reply.header('etag', etag).header('cache-control', 'private, no-store');
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    request.log.debug({ ...line, digest: config.digest }, 'config sent');
    return reply.type('application/json').send(config.bytes);
  });

  plain.get('/healthz', async () => ({ status: 'ok' }));
  plain.get('/readyz', async (_request, reply) => {
    const missing = dependencies.cluster.missing();
    if (missing.length === 0) return { status: 'ok' };
    return refuse(reply, 503, 'NotReady', `not seen yet: ${missing.join(', ')}`);
  });
  plain.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  return { host, plain };
}

/** Counts answers, and turns errors into JSON without their inside. */
function observe(app: FastifyInstance, metrics: ServerMetrics): void {
  app.addHook('onResponse', async (request, reply) => {
    metrics.answered(
      request.routeOptions.url ?? 'unknown',
      reply.statusCode,
      reply.elapsedTime / 1000,
    );
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'NotFound', 'no such endpoint'));
  app.setErrorHandler((error, request, reply) => {
    if (failureName(error) === 'ApiUnavailable') {
      request.log.warn({ reason: messageOf(error) }, 'API server away');
      return later(reply, 'the Kubernetes API server does not answer', 'ApiUnavailable');
    }
    request.log.error({ err: error }, 'request failed');
    return refuse(reply, 500, 'Internal', 'the server failed; its log says why');
  });
}

function refuse(reply: FastifyReply, code: number, reason: string, message: string): FastifyReply {
  return reply.code(code).send({ status: code, reason, message });
}

/** The answer may be another one soon: a refusal would be final. */
function later(reply: FastifyReply, message: string, reason = 'NotReady'): FastifyReply {
  reply.header('retry-after', String(RETRY_AFTER_SECONDS));
  return refuse(reply, 503, reason, message);
}

/** The subject of the client certificate that TLS has verified. */
function peerOf(request: FastifyRequest): PeerSubject | undefined {
  const socket = request.raw.socket as Partial<TLSSocket>;
  if (socket.authorized !== true || socket.getPeerCertificate === undefined) return undefined;
  const { subject } = socket.getPeerCertificate();
  if (subject === undefined) return undefined;
  return { commonNames: listOf(subject.CN), organizations: listOf(subject.O) };
}

/** Node gives a repeated attribute as an array, whatever its types say. */
function listOf(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((entry) => typeof entry === 'string');
}
