/**
 * The gateway to Temporal: gRPC over mutual TLS with the certificate of the kubelet. The name in the
 * certificate decides what a host may call, and for which queue and tasks.
 */

import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { messageOf } from '../../core/errors';
import { nodeOfPeer } from '../access';
import { limitConnections } from '../connections';
import { createAddressLimit, NAMED_LIMIT } from '../join-limit';
import { subjectOf } from '../peer';
import type { HostTls } from '../tls';
import { createHosts } from './hosts';
import {
  answerMessage,
  answerNoCall,
  answerStatus,
  noCall,
  readMessage,
  timeLimit,
} from './messages';
import { type Method, SERVICE } from './methods';
import type { GatewayMetrics } from './metrics';
import { GatewayRefusal, STATUS } from './refusal';

export interface GatewayLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface GatewayOptions {
  readonly tls: HostTls;
  readonly methods: Readonly<Record<string, Method | undefined>>;
  readonly maxConnections: number;
  readonly metrics: (now: GatewayNow) => GatewayMetrics;
  readonly log: GatewayLog;
  /** For tests. */
  readonly times?: Partial<Record<keyof typeof TIMES, number>>;
  /** Milliseconds of a monotonic clock, for the limits of calls. */
  readonly clock?: () => number;
}

interface GatewayNow {
  readonly connections: () => number;
  readonly polls: () => number;
}

export interface Gateway {
  readonly server: Http2SecureServer;
  /** Polls end without an order, other calls end by themselves. */
  close(): Promise<void>;
  cut(): void;
}

/** Milliseconds. */
const TIMES = {
  handshake: 30_000,
  /** A silent connection keeps its place for this long when others need it. */
  patience: 1_000,
  /** For the whole message of a call. */
  message: 30_000,
  /** For a host to take an answer. */
  answer: 60_000,
  ping: 60_000,
  /** The certificate is checked again, and hosts spread over the replicas, with a new connection. */
  age: 3_600_000,
} as const;

const SETTINGS = { maxConcurrentStreams: 16, maxHeaderListSize: 16 * 1024, enablePush: false };
/** Most frames that break the protocol before a connection is closed. */
const MAX_INVALID_FRAMES = 20;

interface Peer {
  readonly session: ServerHttp2Session;
  readonly address: string;
  /** Undefined = the certificate is of no node. */
  readonly host: string | undefined;
  /** Of the certificate, milliseconds since 1970. */
  readonly validToMs: number;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { methods, log, clock = () => performance.now() } = options;
  const times = { ...TIMES, ...options.times };
  const server = createSecureServer({
    ...options.tls,
    allowHTTP1: false,
    handshakeTimeout: times.handshake,
    settings: SETTINGS,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
  });
  const ending = new AbortController();
  const peers = new Map<ServerHttp2Session, Peer>();
  const hosts = createHosts<ServerHttp2Session>(clock);
  const named = createAddressLimit(NAMED_LIMIT, clock);
  let polls = 0;
  const metrics = options.metrics({ connections: () => peers.size, polls: () => polls });
  const connections = limitConnections(
    server as unknown as Parameters<typeof limitConnections>[0],
    { maxConnections: options.maxConnections, maxConnectionsPerAddress: options.maxConnections },
    {
      patience: times.patience,
      dropped(reason, address) {
        if (named.take(reason) > 0) return;
        log.warn({ reason, address }, 'connections to the gateway are closed: there are too many');
      },
    },
  );

  server.on('session', (session) => {
    const socket = session.socket as TLSSocket;
    const host = nodeOfPeer(subjectOf(socket));
    const validToMs = Date.parse(socket.getPeerCertificate().valid_to);
    const peer = { session, host, validToMs, address: socket.remoteAddress ?? '' };
    peers.set(session, peer);
    session.on('error', () => undefined); // 'close' follows
    const ends = keepSession(session, { ...times, age: lifeOf(peer, times.age) });
    session.once('close', () => {
      ends();
      peers.delete(session);
      if (host !== undefined) hosts.gone(host, session);
    });
    // It was still being made when all others were closed.
    if (ending.signal.aborted) return session.close();
    if (host === undefined) return;
    connections.atWork(socket);
    hosts.connected(host, session)?.destroy();
  });

  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined); // 'close' follows
    const { session } = stream;
    const peer = session === undefined ? undefined : peers.get(session as ServerHttp2Session);
    if (peer === undefined) stream.close(constants.NGHTTP2_CANCEL);
    else void serve(stream, headers, peer);
  });

  /** Never throws. */
  async function serve(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    peer: Peer,
  ): Promise<void> {
    const path = String(headers[':path']);
    try {
      const status = noCall(headers);
      if (status === undefined) await answer(stream, headers, { peer, path });
      else {
        tellRefusal(peer, path, new GatewayRefusal(STATUS.UNIMPLEMENTED, 'malformed', 'not gRPC'));
        answerNoCall(stream, status);
      }
    } catch (error) {
      if (!(error instanceof GatewayRefusal)) {
        log.error({ node: peer.host, err: error }, 'gateway failed');
        answerStatus(stream, STATUS.INTERNAL, 'the gateway failed; the log of the server says why');
      } else {
        tellRefusal(peer, path, error);
        answerStatus(stream, error.code, error.message);
      }
    }
    // A host that sends more than was read, or does not take the answer, keeps nothing.
    if (stream.destroyed) return;
    stream.setTimeout(times.answer, () => stream.close(constants.NGHTTP2_CANCEL));
    if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
  }

  async function answer(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    { peer, path }: { readonly peer: Peer; readonly path: string },
  ): Promise<void> {
    const host = hostOf(peer);
    const end = hosts.begin(host);
    const gone = new AbortController();
    stream.once('close', () => gone.abort());
    try {
      const [name, method] = methodAt(path);
      const message = await readMessage(stream, headers, times.message).catch((error: unknown) => {
        if (error instanceof GatewayRefusal) throw error;
        return undefined; // the host has gone
      });
      if (message === undefined) return;
      const deadlineMs = Date.now() + timeLimit(headers, method.mostMs);
      const signal = method.isPoll ? AbortSignal.any([gone.signal, ending.signal]) : gone.signal;
      if (method.isPoll) polls += 1;
      await pass(stream, { name, method, call: { host, message, deadlineMs, signal } }).finally(
        () => {
          if (method.isPoll) polls -= 1;
        },
      );
    } finally {
      end();
    }
  }

  async function pass(
    stream: ServerHttp2Stream,
    {
      name,
      method,
      call,
    }: {
      readonly name: string;
      readonly method: Method;
      readonly call: Parameters<Method['answer']>[0];
    },
  ): Promise<void> {
    try {
      answerMessage(stream, await method.answer(call));
      metrics.answered(name, STATUS.OK);
    } catch (error) {
      const code = codeOf(error);
      if (error instanceof GatewayRefusal || code === undefined) throw error;
      metrics.answered(name, code);
      answerStatus(stream, code, textOf(error));
    }
  }

  function methodAt(path: string): readonly [string, Method] {
    const prefix = `/${SERVICE}/`;
    const name = path.startsWith(prefix) ? path.slice(prefix.length) : '';
    const method = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (method !== undefined) return [name, method];
    const message = `hosts may not call ${short(path)}`;
    throw new GatewayRefusal(STATUS.PERMISSION_DENIED, 'unknown-call', message);
  }

  function tellRefusal(peer: Peer, path: string, { reason, message }: GatewayRefusal): void {
    metrics.refused(reason);
    const { host: node, address } = peer;
    if (named.take(`${node ?? address} ${reason}`) > 0) return;
    log.warn({ node, address, call: short(path), reason, message }, 'call of a host refused');
  }

  return {
    server,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of peers.keys()) session.close();
      ending.abort();
      await closed;
    },
    cut: () => connections.destroyAll(),
  };
}

/** @throws GatewayRefusal */
function hostOf({ session, host, validToMs }: Peer): string {
  if (host !== undefined && Date.now() < validToMs) return host;
  // The connection is of no use any more.
  session.close();
  throw host === undefined
    ? unauthenticated('not-a-node', 'the client certificate is not that of a node')
    : unauthenticated('certificate-expired', `the client certificate of host ${host} has expired`);
}

function unauthenticated(
  reason: 'not-a-node' | 'certificate-expired',
  message: string,
): GatewayRefusal {
  return new GatewayRefusal(STATUS.UNAUTHENTICATED, reason, message);
}

/** The rest of its certificate, or about as long as all others. */
function lifeOf({ validToMs }: Peer, mostMs: number): number {
  return Math.max(0, Math.min(mostMs * (0.8 + 0.4 * Math.random()), validToMs - Date.now()));
}

/**
 * A host that was cut off takes no orders: its polls have to end.
 *
 * @returns a function that stops this
 */
function keepSession(
  session: ServerHttp2Session,
  { ping, age }: { readonly ping: number; readonly age: number },
): () => void {
  let isAnswered = true;
  const pinging = setInterval(() => {
    if (session.destroyed) return;
    if (!isAnswered) return session.destroy();
    isAnswered = false;
    session.ping(() => {
      isAnswered = true;
    });
  }, ping).unref();
  const old = setTimeout(() => session.close(), age).unref();
  return () => {
    clearInterval(pinging);
    clearTimeout(old);
  };
}

/** Of an answer of Temporal. Its view of this process is no matter of the host. */
function codeOf(error: unknown): number | undefined {
  const { code } = error as { readonly code?: unknown };
  if (code === STATUS.PERMISSION_DENIED || code === STATUS.UNAUTHENTICATED) {
    return STATUS.UNAVAILABLE;
  }
  return typeof code === 'number' ? code : undefined;
}

function textOf(error: unknown): string {
  const { details } = error as { readonly details?: unknown };
  return typeof details === 'string' ? details : messageOf(error);
}

const SHOWN = 200;

function short(path: string): string {
  return path.length > SHOWN ? `${path.slice(0, SHOWN)}…` : path;
}
