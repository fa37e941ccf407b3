/**
 * The host endpoint (TLS), and the plain endpoint for health and metrics. Requests can be injected;
 * `main.ts` makes them listen.
 */

import type { Server as HttpsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { failureName, messageOf } from '../core/errors';
import { OBJECT_NAME } from '../core/names';
import type { SignedText } from '../core/orders';
import type { MachineConfigPool } from '../core/pool/types';
import { type Asked, mayRead, nodeOfPeer, type Verdict } from './access';
import { serveBundles } from './bundles/endpoint';
import { servePinnedImages } from './pinned-images/endpoint';
import type { BundleSource } from './bundles/source';
import { later, refuse } from './refusals';
import { createConfigStore } from './config-store';
import { limitConnections, type ConnectionLimits } from './connections';
import {
  refuseBadUrl,
  refuseOddRequests,
  refuseOtherMethods,
  refuseUnreadableHost,
} from './host-refusals';
import { createAddressLimit, NAMED_LIMIT, OTHER_LIMIT, type LimitSettings } from './join-limit';
import { addConfigLookups, createServerMetrics, type ServerMetrics } from './metrics';
import type {
  ClusterView,
  PeerSubject,
  ReadMachineConfig,
  ReadNode,
  ReadPools,
  WriteConditions,
  WriteDrift,
} from './ports';
import { knownHost } from './known-host';
import { createHeardHosts } from './heard-hosts';
import { subjectOf } from './peer';
import { serveReports } from './report-endpoint';
import type { HostTls } from './tls';

export interface ServerDependencies {
  readonly cluster: ClusterView;
  readonly readMachineConfig: ReadMachineConfig;
  readonly readNode: ReadNode;
  readonly readPools: ReadPools;
  readonly writeDrift: WriteDrift;
  /** Both absent = hosts get no bundles. */
  readonly bundles?: BundleSource;
  readonly writeBundle?: WriteConditions;
  /** Absent = hosts get no pinned images. */
  readonly writePinned?: WriteConditions;
  /** How long an answer about a bundle waits, ms. For tests. */
  readonly holdMs?: number;
  readonly logger: FastifyBaseLogger;
  /** Absent = requests are injected. */
  readonly tls?: HostTls;
  readonly maxConfigBytes?: number;
  /** Default: the subject of the verified client certificate. */
  readonly identify?: (request: FastifyRequest) => PeerSubject | undefined;
  /** Milliseconds of a monotonic clock, for request limits. */
  readonly clock?: () => number;
  /** Milliseconds since 1970, for repair turns. */
  readonly wallClock?: () => number;
  readonly metrics?: ServerMetrics;
  /** PEM, for hosts; undefined = nobody says. */
  readonly serverAuthority?: () => string | undefined;
  /** For hosts; absent = they learn no keys of orders here. */
  readonly orderStatements?: () => readonly SignedText[];
  /** Absent = unlimited. */
  readonly limits?: ConnectionLimits;
  /** For tests. */
  readonly timeouts?: Partial<typeof HOST_TIMEOUTS>;
  /** Reasons of `/readyz`, beside the cluster. */
  readonly alsoMissing?: () => readonly string[];
}

/** Milliseconds. */
const HOST_TIMEOUTS: Readonly<
  Record<'handshake' | 'headers' | 'request' | 'keepAlive' | 'idle' | 'patience', number>
> = {
  handshake: 30_000,
  /** Since the connection, or the last answer. */
  headers: 30_000,
  /** As `headers`, with the body. */
  request: 60_000,
  keepAlive: 10_000,
  /** Also while an answer is prepared. */
  idle: 120_000,
  /** A silent connection keeps its place for this long when others of its address have none. */
  patience: 1_000,
};

/** Limits reads of a Node before a refusal, so that no node can load the API server. */
const LOOK_LIMIT: LimitSettings = { burst: 5, perSecond: 1 / 10, maxAddresses: 10_000 };

/** An update asks for two configs, and repeats unanswered requests slowly. */
const NODE_LIMIT: LimitSettings = { burst: 60, perSecond: 1, maxAddresses: 10_000 };

interface Server {
  /**
   * `GET /host/configs/<name>`, `PUT /host/report`, `PUT /host/bundle`, `PUT /host/pinned-images`;
   * mutual TLS.
   */
  readonly host: FastifyInstance;
  /** `GET /healthz`, `/readyz`, `/metrics`. */
  readonly plain: FastifyInstance;
  readonly cutOffHosts: () => void;
}

export function buildServer(dependencies: ServerDependencies): Server {
  const store = createConfigStore(dependencies.readMachineConfig, {
    maxBytes: dependencies.maxConfigBytes,
  });
  const metrics = dependencies.metrics ?? createServerMetrics();
  addConfigLookups(metrics.registry, store);
  const { logger } = dependencies;
  const options = optionsFor(logger);
  const host = createHostApp(dependencies, options);
  const named = createAddressLimit(NAMED_LIMIT, () => performance.now());
  const connections =
    dependencies.limits &&
    limitConnections(host.server as unknown as HttpsServer, dependencies.limits, {
      patience: dependencies.timeouts?.patience ?? HOST_TIMEOUTS.patience,
      dropped(reason, address) {
        if (named.take(reason) === 0) {
          logger.warn({ reason, address }, 'connections of hosts are closed: there are too many');
        }
      },
    });
  // An admitted request is answered to its end, also when the server is full.
  host.addHook('onRequest', async ({ raw: { socket } }, { raw }) => {
    connections?.atWork(socket);
    raw.once('close', () => connections?.waitFor(socket));
  });
  observe(host, metrics);
  hearHosts(host, metrics, dependencies);
  limitRequests(host, dependencies);
  refuseOddRequests(host);
  const looks = createAddressLimit(LOOK_LIMIT, () => performance.now());
  const { readNode, readPools } = dependencies;
  const identify = dependencies.identify ?? peerOf;

  host.get<{ Params: { name: string } }>('/host/configs/:name', async (request, reply) => {
    const { cluster } = dependencies;
    const asking = knownHost(request, reply, { cluster, identify });
    if (asking === undefined) return reply;
    const { name: nodeName, node } = asking;
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
    const pools = cluster.pools();
    const machineConfigNode = cluster.machineConfigNode(nodeName);
    const judge = (seen: Pick<Asked, 'node' | 'pools'>): Verdict =>
      mayRead({ nodeName, ...seen, machineConfigNode, config });
    let verdict = judge({ node, pools });
    // The watch may not have seen a new pool.
    if (!verdict.allowed && isOfUnknownPool(config, pools)) {
      return later(reply, `pool ${config.pool} of config ${name} is not known to the server`);
    }
    // The watch may not have seen that the node joined the pool. A refusal is final, so the API
    // server is asked.
    if (!verdict.allowed && looks.take(nodeName) === 0) {
      const [nodeNow = node, poolsNow] = await Promise.all([readNode(nodeName), readPools()]);
      verdict = judge({ node: nodeNow, pools: poolsNow });
    }
    if (!verdict.allowed) {
      request.log.warn({ ...line, reason: verdict.reason }, 'config refused');
      return verdict.isOutdated === true
        ? refuse(reply, 409, 'Outdated', verdict.reason)
        : refuse(reply, 403, 'Forbidden', verdict.reason);
    }
    const etag = `"${config.digest}"`;
    reply.header('etag', etag).header('cache-control', 'private, no-store');
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    request.log.debug({ ...line, digest: config.digest }, 'config sent');
    return reply.type('application/json').send(config.bytes);
  });
  refuseOtherMethods(host, '/host/configs/:name', ['GET', 'HEAD']);

  serveReports(host, {
    cluster: dependencies.cluster,
    writeDrift: dependencies.writeDrift,
    identify,
    ...(dependencies.clock === undefined ? {} : { clock: dependencies.clock }),
    ...(dependencies.wallClock === undefined ? {} : { wallClock: dependencies.wallClock }),
    ...(dependencies.serverAuthority === undefined
      ? {}
      : { serverAuthority: dependencies.serverAuthority }),
    ...(dependencies.orderStatements === undefined
      ? {}
      : { orderStatements: dependencies.orderStatements }),
  });

  const { bundles, writeBundle } = dependencies;
  if (bundles !== undefined && writeBundle !== undefined) {
    serveBundles(host, {
      ...{ bundles, writeBundle, readNode, readPools, identify },
      cluster: dependencies.cluster,
      mayLook: (node) => looks.take(node),
      letWait: ({ raw: { socket } }) => {
        connections?.waitFor(socket);
        return () => connections?.atWork(socket);
      },
      ...(dependencies.holdMs === undefined ? {} : { holdMs: dependencies.holdMs }),
    });
  }

  const { writePinned } = dependencies;
  if (writePinned !== undefined) {
    servePinnedImages(host, { cluster: dependencies.cluster, writePinned, identify });
  }

  const { cluster, alsoMissing } = dependencies;
  const missing = () => [...cluster.missing(), ...(alsoMissing?.() ?? [])];
  return {
    host,
    plain: buildPlain({ metrics, logger, missing }),
    cutOffHosts: () => connections?.destroyAll(),
  };
}

/** Also one that asks too often is heard. */
function hearHosts(
  host: FastifyInstance,
  { registry }: ServerMetrics,
  { cluster, identify = peerOf, wallClock = Date.now }: ServerDependencies,
): void {
  const heard = createHeardHosts(registry, cluster, wallClock);
  host.addHook('onRequest', async (request) => {
    const node = nodeOfPeer(identify(request));
    if (node !== undefined) heard(node);
  });
}

/** By name, because many nodes may share an address; other certificates by address. */
function limitRequests(host: FastifyInstance, dependencies: ServerDependencies): void {
  const { clock = () => performance.now(), identify = peerOf, logger } = dependencies;
  const nodes = createAddressLimit(NODE_LIMIT, clock);
  const others = createAddressLimit(OTHER_LIMIT, clock);
  const named = createAddressLimit(NAMED_LIMIT, clock);
  host.addHook('onRequest', async (request, reply) => {
    const node = nodeOfPeer(identify(request));
    const address = request.socket.remoteAddress ?? '';
    const wait = node === undefined ? others.take(address) : nodes.take(node);
    if (wait === 0) return undefined;
    if (named.take(node ?? address) === 0) {
      logger.warn({ node, address }, 'requests refused: there are too many');
    }
    reply.header('retry-after', String(wait));
    return refuse(reply, 429, 'TooManyRequests', 'too many requests; ask again later');
  });
}

function createHostApp(
  { tls, timeouts }: ServerDependencies,
  options: ReturnType<typeof optionsFor>,
): FastifyInstance {
  if (tls === undefined) return Fastify(options);
  const { handshake, headers, request, keepAlive, idle } = { ...HOST_TIMEOUTS, ...timeouts };
  return Fastify({
    ...options,
    clientErrorHandler: refuseUnreadableHost,
    requestTimeout: request,
    keepAliveTimeout: keepAlive,
    connectionTimeout: idle,
    https: {
      ...tls,
      // Such requests are answered as all others.
      requireHostHeader: false,
      handshakeTimeout: handshake,
      headersTimeout: headers,
      connectionsCheckingInterval: Math.min(headers / 2, 5_000),
    },
  });
}

/** @param dependencies - `missing`: what it waits for before it is ready */
export function buildPlain(dependencies: {
  readonly metrics: ServerMetrics;
  readonly logger: FastifyBaseLogger;
  readonly missing: () => readonly string[];
}): FastifyInstance {
  const { metrics } = dependencies;
  const plain = Fastify(optionsFor(dependencies.logger));
  observe(plain, metrics);
  plain.get('/healthz', async () => ({ status: 'ok' }));
  plain.get('/readyz', async (_request, reply) => {
    const missing = dependencies.missing();
    if (missing.length === 0) return { status: 'ok' };
    return refuse(reply, 503, 'NotReady', `not seen yet: ${missing.join(', ')}`);
  });
  plain.get('/metrics', async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  return plain;
}

/**
 * Fastify takes parameters of up to 100 characters by default, and a config's name may be longer.
 */
const MAX_PARAMETER = 16 * 1024;

function optionsFor(loggerInstance: FastifyBaseLogger) {
  const logController = new LogController({ disableRequestLogging: true });
  const routerOptions = { maxParamLength: MAX_PARAMETER };
  return {
    frameworkErrors: refuseBadUrl,
    loggerInstance,
    logController,
    routerOptions,
    bodyLimit: 1024,
  };
}

function isOfUnknownPool(
  config: { readonly pool?: string },
  pools: readonly MachineConfigPool[],
): boolean {
  return config.pool !== undefined && !pools.some(({ metadata }) => metadata.name === config.pool);
}

/** Errors become JSON without their details. */
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
    const status = clientFault(error);
    if (status !== undefined) return refuse(reply, status, 'BadRequest', messageOf(error));
    request.log.error({ err: error }, 'request failed');
    return refuse(reply, 500, 'Internal', 'the server failed; its log says why');
  });
}

/** Of a body: too long, not JSON, of another type. */
function clientFault(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return undefined;
  const { statusCode } = error;
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
    ? statusCode
    : undefined;
}

function peerOf(request: FastifyRequest): PeerSubject | undefined {
  return subjectOf(request.raw.socket as Partial<TLSSocket>);
}
