/** A Machine Config Server on a real TLS port, and faulty clients. */

import { connect, type TLSSocket } from 'node:tls';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { pino } from 'pino';
import type { MachineConfig } from '../../../core/machine-config/types';
import { buildIgnition, type IgnitionDependencies } from '../../../server/ignition/app';
import type { Preparer } from '../../../server/ignition/prepare';
import { createShelf } from '../../../server/ignition/shelf';
import { fixedSource } from '../../unit/server/ignition/fixed-source';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../tools/cluster/certificates';
import { preparerHere } from './preparer-here';

export interface MachineServer {
  readonly port: number;
  readonly ca: string;
  readonly connections: () => number;
  /** Called after the server has seen a TCP connection. */
  onConnection(listener: () => void): void;
  /** Counted events: `dropped slow`, `answered /config/:pool 200`. */
  readonly counted: readonly string[];
  /** Log lines since it listens. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  /** Resolves when a line was counted, before or after the call. */
  whenCounted(line: string): Promise<void>;
  whenOpen(count: number): Promise<void>;
  stop(): Promise<void>;
}

export function aConfig(text = 'hello'): MachineConfig {
  return {
    metadata: { name: 'rendered-worker-1' },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/a', contents: { source: `data:,${text}` } }] },
      },
    },
  };
}

export async function startMachineServer(
  options: Partial<Pick<IgnitionDependencies, 'isAllowed' | 'limits' | 'timeouts'>> & {
    readonly machineConfig?: MachineConfig;
    readonly preparer?: Preparer;
  } = {},
): Promise<MachineServer> {
  const authority = await newAuthority('machine-sockets');
  const { certificate, key } = await issueCertificate(authority, {
    subject: { commonName: 'server' },
    use: CertificateUse.SERVER,
    addresses: ['127.0.0.1'],
  });
  const counted: string[] = [];
  const logged: Readonly<Record<string, unknown>>[] = [];
  const waiting = new Set<() => void>();
  const count = (...parts: readonly unknown[]): void => {
    counted.push(parts.join(' '));
    for (const look of waiting) look();
  };
  const when = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return;
        waiting.delete(look);
        clearInterval(timer);
        resolve();
      };
      // No event reports connections that come and go.
      const timer = setInterval(look, 20);
      waiting.add(look);
      look();
    });
  const { machineConfig = aConfig(), preparer = preparerHere, ...given } = options;
  const { app, connections, cutOff } = buildIgnition({
    source: fixedSource([{ pool: 'worker', machineConfig }]),
    shelf: createShelf({ preparer, maxBytes: 64 * 1024 * 1024 }),
    gate: { ask: async () => ({ admitted: true }) },
    events: {
      sent: (version, encoding) => count('sent', version, encoding),
      missed: (reason) => count('missed', reason),
      substituted: (because) => count('substituted', because),
      dropped: (reason) => count('dropped', reason),
      answered: (endpoint, code) => count('answered', endpoint, code),
    },
    logger: pino(
      { level: 'info' },
      { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    limits: { maxConnections: 1_000, maxConnectionsPerAddress: 1_000 },
    tls: { cert: certificate, key },
    ...given,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  // Drops Fastify's own line about the port.
  logged.length = 0;
  return {
    port: (app.server.address() as AddressInfo).port,
    ca: authority.certificate,
    connections,
    onConnection: (listener) => void app.server.on('connection', listener),
    counted,
    logged,
    whenCounted: (line) => when(() => counted.includes(line)),
    whenOpen: (open) => when(() => connections() === open),
    stop: async () => {
      cutOff();
      await app.close();
      await preparer.close();
    },
  };
}

/** Returns that many bytes for every config, at once: more than the buffers of a socket hold. */
export function bytesPreparer(length: number): Preparer {
  const bytes = Buffer.alloc(length, 'x');
  return {
    prepare: async () => ({
      state: 'ready',
      bytes: { identity: bytes, gzip: bytes, zstd: bytes },
      digest: 'x',
    }),
    close: () => Promise.resolve(),
  };
}

/** A TLS connection after its handshake. */
export function tlsTo(
  { port, ca }: MachineServer,
  options: { readonly allowHalfOpen?: boolean; readonly maxVersion?: 'TLSv1.1' } = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, ...options });
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** A connection without a handshake; resolves when TCP is connected. */
export function tcpTo({ port }: MachineServer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host: '127.0.0.1', port });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

export function allOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
    });
    socket.once('close', () => resolve(text));
  });
}

export const REQUEST = 'GET /config/worker HTTP/1.1\r\nHost: a\r\n';

/** Sends one good request on its own connection; returns the status line. */
export async function statusOf(server: MachineServer, path = '/config/worker'): Promise<string> {
  const socket = await tlsTo(server);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return (await allOf(socket)).split('\r\n')[0] ?? '';
}
