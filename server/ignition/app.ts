/**
 * The Machine Config Server: first configs for machines that join. Requests can be injected;
 * `main.ts` makes it listen.
 *
 * @see MCO pkg/server/api.go (7ff337a4)
 */

import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { messageOf } from '../../core/errors';
import type { InsteadBecause } from '../../core/first-boot';
import { servedVersion, type OutputVersion } from '../../core/ignition';
import { OBJECT_NAME } from '../../core/names';
import {
  limitConnections,
  TIMEOUTS,
  type ConnectionLimits,
  type Connections,
  type DropReason,
} from '../connections';
import type { JoinGate } from '../join-gate';
import { createAddressLimit, NAMED_LIMIT, OTHER_LIMIT, type AddressLimit } from '../join-limit';
import {
  answerOddRequests,
  firstHeader,
  refusalOf,
  refuseUnreadable,
  waitForEarlyEnds,
  type Wording,
} from '../malformed-requests';
import { queueArrivals } from './arrivals';
import type { HostWorkerFiles } from './host-worker';
import { chooseEncoding, isKnown } from './encodings';
import type { Prepared } from './prepare';
import type { Shelf } from './shelf';
import { followAnswer, lines, repeated, sending, type CutReason } from './request-log';
import {
  missing,
  type ConfigSource,
  type Missing,
  type MissingReason,
  type ServedConfig,
} from './source';
import { readTarget } from './target';
import { createTurns, type Turns } from './turns';

interface IgnitionEvents {
  /** Called when a first config was sent to its last byte. */
  readonly sent: (version: string, encoding: string) => void;
  readonly missed: (reason: MissingReason) => void;
  /** The config of the pool was deleted, so an admitted request got another one. */
  readonly substituted: (because: InsteadBecause) => void;
  readonly dropped: (reason: DropReason | CutReason) => void;
  readonly answered: (endpoint: string, code: number, seconds: number) => void;
}

export interface IgnitionDependencies {
  readonly source: ConfigSource;
  readonly shelf: Shelf;
  readonly gate: JoinGate;
  /** Absent = there is none for stock images. */
  readonly hostWorker?: HostWorkerFiles;
  readonly events: IgnitionEvents;
  readonly logger: FastifyBaseLogger;
  readonly limits: ConnectionLimits;
  /** Before TLS; absent = all may. */
  readonly isAllowed?: (address: string) => boolean;
  /** Absent = requests are injected. There is no plain port. */
  readonly tls?: Pick<SecureContextOptions, 'cert' | 'ciphers' | 'key'>;
  readonly timeouts?: Partial<Record<keyof typeof TIMEOUTS, number>>;
  /** Monotonic, milliseconds. */
  readonly clock?: () => number;
}

interface IgnitionServer {
  readonly app: FastifyInstance;
  readonly connections: () => number;
  readonly cutOff: () => void;
}

/** Per turn of the event loop, passed to TLS. A megabyte takes one to two milliseconds. */
const BYTES_PER_TURN = 4 * 1024 * 1024;

export function buildIgnition(dependencies: IgnitionDependencies): IgnitionServer {
  const { events, clock = () => performance.now() } = dependencies;
  const timeouts = { ...TIMEOUTS, ...dependencies.timeouts };
  const app = createApp(dependencies, timeouts);
  const tooMany = createAddressLimit(NAMED_LIMIT, clock);
  app.addHook('onRequest', async (request, reply) => {
    const isArchive = readTarget(request.raw.url ?? '').kind === 'host-worker';
    const ms = isArchive ? timeouts.archive : timeouts.answer;
    followAnswer(request, reply, { ms, events, tooMany });
  });
  // Bodies are ignored.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const turns = createTurns(BYTES_PER_TURN);
  const others = createAddressLimit(OTHER_LIMIT, clock);
  const answer = (request: FastifyRequest, reply: FastifyReply) =>
    route({ ...dependencies, turns, connections, others }, request, reply);
  app.all('/*', answer);
  // Also for methods that Fastify does not know.
  app.setNotFoundHandler(answer);
  app.setErrorHandler((error, request, reply) => {
    // Fastify checks some methods (a body for QUERY) before it routes them.
    if (request.method !== 'GET' && request.method !== 'HEAD') return empty(reply, 405);
    request.log.error({ err: error }, 'request failed');
    return empty(reply, 500);
  });
  const server = app.server as unknown as HttpsServer;
  waitForEarlyEnds(server);
  answerOddRequests(server, wordless);
  const arrivals =
    dependencies.tls &&
    queueArrivals(server, timeouts, {
      atWork: (socket) => connections.atWork(socket),
      waitFor: (socket) => connections.waitFor(socket),
    });
  const connections = boundConnections(server, dependencies, {
    admitted: arrivals?.hear,
    patience: timeouts.patience,
  });
  app.addHook('preClose', async () => arrivals?.close());
  return { app, connections: connections.count, cutOff: connections.destroyAll };
}

/** Logged once a minute, because machines of a refused network get no answer. */
function boundConnections(
  server: HttpsServer,
  { events, limits, isAllowed, logger }: IgnitionDependencies,
  given: {
    readonly admitted: ((socket: Socket) => void) | undefined;
    readonly patience: number;
  },
): Connections {
  const named = createAddressLimit(NAMED_LIMIT, () => performance.now());
  return limitConnections(server, limits, {
    ...given,
    isAllowed,
    dropped(reason, address) {
      events.dropped(reason);
      if (reason === 'network' && named.take(address) === 0) {
        logger.warn({ address }, 'connection refused: the address is on no allowed network');
      }
    },
  });
}

function createApp(
  { logger, tls }: IgnitionDependencies,
  timeouts: Readonly<Record<keyof typeof TIMEOUTS, number>>,
): FastifyInstance {
  const options = {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: timeouts.request,
    keepAliveTimeout: timeouts.keepAlive,
    connectionTimeout: timeouts.idle,
    frameworkErrors: (
      _error: Error,
      _request: unknown,
      reply: { code(code: number): FastifyReply },
    ) => void empty(reply.code(400), 400),
    clientErrorHandler: refuseUnreadable(wordless),
  };
  if (tls === undefined) return Fastify(options);
  return Fastify({
    ...options,
    https: {
      ...tls,
      // `refusalOf` answers these.
      requireHostHeader: false,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      headersTimeout: timeouts.headers,
      connectionsCheckingInterval: Math.min(timeouts.headers / 2, 5_000),
    },
  });
}

type Parts = IgnitionDependencies & {
  readonly turns: Turns;
  /** Requests for configs have limits of their own. */
  readonly others: AddressLimit;
  readonly connections: Pick<Connections, 'atWork' | 'waitFor'>;
};

async function route(
  dependencies: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const refusal = refusalOf(request.raw);
  if (refusal !== undefined) return empty(reply.header('connection', 'close'), refusal);
  const target = readTarget(request.raw.url ?? '');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (target.kind === 'config') lines.set(request, { pool: target.pool.slice(0, 253) });
  if (target.kind !== 'config' || !isRead) {
    const wait = dependencies.others.take(request.socket.remoteAddress ?? '');
    if (wait > 0) return empty(reply.header('retry-after', String(wait)), 429);
  }
  switch (target.kind) {
    case 'malformed':
      return empty(reply, 400);
    case 'redirect':
      return redirect(reply, target.location, isRead);
    case 'server':
      return empty(reply, request.method === 'OPTIONS' ? 200 : 400);
    case 'health':
      return empty(reply, isRead ? 200 : 405);
    case 'host-worker':
      return isRead ? giveHostWorker(dependencies, target.file, request, reply) : empty(reply, 405);
    case 'nothing':
      return empty(reply, isRead ? 404 : 405);
    case 'config':
      return isRead ? serve(dependencies, target.pool, request, reply) : empty(reply, 405);
  }
}

async function serve(
  { gate, source, shelf, events, turns, connections }: Parts,
  pool: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const line = lines.get(request) ?? {};
  const { authorization } = request.headers;
  const verdict = await gate.ask({
    pool,
    authorization,
    address: request.socket.remoteAddress ?? '',
  });
  if (!verdict.admitted) {
    line.reason = verdict.reason;
    if (verdict.isRepeated === true) repeated.add(request);
    if (verdict.status === 401) reply.header('www-authenticate', 'Bearer');
    if (verdict.retryAfterSeconds !== undefined) {
      reply.header('retry-after', String(verdict.retryAfterSeconds));
    }
    return empty(reply, verdict.status);
  }
  if (verdict.tokenId !== undefined) line.tokenId = verdict.tokenId;
  // An admitted request is answered to its end, also when the server is full.
  connections.atWork(request.socket);
  reply.raw.once('close', () => connections.waitFor(request.socket));
  const wanted = servedVersion(firstHeader(request.raw, 'accept'));
  if ('refused' in wanted && wanted.refused === 'unsupported') return empty(reply, 400);
  const found = await lookUp(source, pool);
  reply.header('slipway-config-age', String(Math.floor(source.ageSeconds())));
  const answer = 'served' in found ? await bytesOf(shelf, found.served, wanted) : found;
  if ('missing' in answer) {
    const { status, reason, message } = answer.missing;
    line.reason = message;
    events.missed(reason);
    if (status === 503) reply.header('retry-after', '5');
    return empty(reply.header('slipway-reason', reason), status);
  }
  if ('served' in found && found.served.instead !== undefined) {
    const { of, because } = found.served.instead;
    line.reason = `instead of ${of}, which does not exist (${because})`;
    events.substituted(because);
  }
  line.config = answer.name;
  line.version = answer.version;
  return send(request, reply, { ...answer, events, turns });
}

/** No secret: a machine needs no token for it. */
async function giveHostWorker(
  { hostWorker, connections }: Parts,
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const address = request.socket.remoteAddress;
  const found = (await hostWorker?.open(name, address ?? '')) ?? { state: 'absent' };
  switch (found.state) {
    case 'absent':
      return empty(reply.header('slipway-reason', 'no-host-worker'), 404);
    case 'busy':
      return empty(reply.header('retry-after', '5'), 503);
    case 'open':
  }
  const { socket } = request;
  if (socket.destroyed) {
    found.close();
    return reply.hijack();
  }
  // Node tells an answer that waits for an earlier one of its connection nothing of the end of that.
  socket.setMaxListeners(0).once('close', found.close);
  reply.raw.once('close', () => {
    socket.off('close', found.close);
    found.close();
  });
  reply
    .header('content-length', String(found.size))
    .header('content-type', 'application/octet-stream');
  if (request.method === 'HEAD') return reply.send('');
  // Under way, it is not given up for new connections.
  connections.atWork(socket);
  reply.raw.once('close', () => connections.waitFor(socket));
  request.log.info({ address, file: name }, 'host worker given');
  return reply.send(found.read());
}

async function lookUp(source: ConfigSource, pool: string) {
  if (OBJECT_NAME.test(pool)) return source.look(pool);
  return missing(500, 'unknown-pool', 'this is not the name of a pool');
}

const REFUSED = { version: 'not-in-this-version', config: 'unusable-config' } as const;

type Ready = Extract<Prepared, { readonly state: 'ready' }>;

async function bytesOf(
  shelf: Shelf,
  served: ServedConfig,
  wanted: ReturnType<typeof servedVersion>,
): Promise<
  | { readonly missing: Missing }
  | { readonly name: string; readonly version: OutputVersion; readonly ready: Ready }
> {
  const { name } = served;
  if ('refused' in wanted) {
    return missing(500, 'not-in-this-version', 'there is no way from Ignition 3.5 to 3.0');
  }
  const { version } = wanted;
  let prepared: Prepared;
  try {
    prepared = await shelf.get(served, version);
  } catch (error) {
    return missing(503, 'not-prepared', messageOf(error));
  }
  switch (prepared.state) {
    case 'ready':
      return { name, version, ready: prepared };
    case 'refused':
      return missing(500, REFUSED[prepared.of], `config ${name}: ${prepared.reason}`);
    case 'too-large':
      return missing(
        500,
        'too-large',
        `config ${name} has ${prepared.size} bytes as Ignition ${version}, and ${prepared.limit} is the limit (maxFirstConfigBytes)`,
      );
  }
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: {
    readonly version: OutputVersion;
    readonly ready: Ready;
    readonly events: IgnitionEvents;
    readonly turns: Turns;
  },
): Promise<FastifyReply> {
  const { version, ready, events, turns } = answer;
  const encoding = chooseEncoding(request.headers['accept-encoding']?.toString());
  // A cache must not mix the encodings up.
  const etag = encoding === 'identity' ? `"${ready.digest}"` : `"${ready.digest}-${encoding}"`;
  reply
    .header('etag', etag)
    .header('cache-control', 'private, no-store')
    .header('vary', 'Accept, Accept-Encoding, Authorization');
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  const bytes = ready.bytes[encoding];
  if (request.method === 'GET') await new Promise<void>((begin) => turns(bytes.length, begin));
  if (request.method === 'GET') sending.set(request, () => events.sent(version, encoding));
  return reply.header('content-type', 'application/json').send(bytes);
}

/** As `empty`, where there is no reply. */
function wordless(): Wording {
  return { headers: {}, body: '' };
}

/** The log holds the reason. */
function empty(reply: FastifyReply, code: number): FastifyReply {
  return reply.code(code).header('content-length', '0').send();
}

/** As Go's multiplexer does it, body included. */
function redirect(reply: FastifyReply, location: string, isRead: boolean): FastifyReply {
  reply.code(307).header('location', location);
  if (!isRead) return reply.header('content-length', '0').send();
  const href = location.replaceAll('&', '&amp;').replaceAll("'", '&#39;');
  return reply
    .header('content-type', 'text/html; charset=utf-8')
    .send(`<a href="${href}">Temporary Redirect</a>.\n\n`);
}
