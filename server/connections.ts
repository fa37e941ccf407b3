/**
 * Limits connections, in all and per address, and how long each may take. Excess connections are
 * closed before TLS costs anything; those that keep the server waiting go first.
 */

import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { createWaiting } from './waiting-connections';
import { countedAs, plainAddress } from './join-networks';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** An IPv6 address counts by its /64. */
  readonly maxConnectionsPerAddress: number;
}

/**
 * Milliseconds. They are long, because a silent connection costs little and machines on a slow
 * network need time.
 */
export const TIMEOUTS = {
  /** From the connection to its first byte. */
  hello: 30_000,
  /** From the beginning of TLS to the end of the handshake. */
  handshake: 30_000,
  /** Since the connection, or the last answer. */
  headers: 30_000,
  /** As `headers`, with the body, which is ignored. */
  request: 35_000,
  keepAlive: 10_000,
  idle: 30_000,
  /** To the last byte of an answer: 15 MB at 100 kB/s. */
  answer: 150_000,
  /** The same for the host worker: 60 MB at 100 kB/s. */
  archive: 600_000,
  /** A silent connection keeps its place for this long when others of its address have none. */
  patience: 1_000,
} as const;

/** `gave-way`: the server waited for its client, and a new connection needed the place. */
export type DropReason = 'too-many' | 'too-many-of-address' | 'network' | 'gave-way';

type BoundedServer = Pick<HttpsServer, 'on'>;

/** A TCP or TLS socket names a connection. */
export interface Connections {
  readonly count: () => number;
  /** It does not give way. */
  readonly atWork: (socket: Peer) => void;
  /**
   * Ends one `atWork`; a client may send several requests at once. After the last one the
   * connection may give way.
   */
  readonly waitFor: (socket: Peer) => void;
  readonly destroyAll: () => void;
}

type Peer = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

/**
 * Equal for TCP and the TLS on it. One client port may connect to several addresses of a server, so
 * both ends count.
 */
export function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Peer): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(' ');
}

export function limitConnections(
  server: BoundedServer,
  limits: ConnectionLimits,
  told: {
    readonly dropped: (reason: DropReason, address: string) => void;
    readonly admitted?: ((socket: Socket) => void) | undefined;
    /** Absent = all may. */
    readonly isAllowed?: ((address: string) => boolean) | undefined;
    readonly patience?: number | undefined;
    /** Monotonic, milliseconds. */
    readonly now?: () => number;
  },
): Connections {
  const { dropped, admitted, isAllowed = () => true } = told;
  const { patience = TIMEOUTS.patience, now = () => performance.now() } = told;
  const byAddress = new Map<string, number>();
  const open = new Map<string, OpenConnection>();
  const waiting = createWaiting<OpenConnection>({ patience, now });

  function forget(connection: OpenConnection): void {
    const { peer, address } = connection;
    if (connection.isOver) return;
    connection.isOver = true;
    open.delete(peer);
    waiting.remove(connection, address);
    const counted = countedAs(address);
    const left = (byAddress.get(counted) ?? 1) - 1;
    if (left === 0) byAddress.delete(counted);
    else byAddress.set(counted, left);
  }

  /** False = no connection gives way. */
  function makeRoom(giving: OpenConnection | undefined): boolean {
    if (giving === undefined) return false;
    dropped('gave-way', giving.address);
    forget(giving);
    giving.socket.destroy();
    return true;
  }

  function refusalOf(address: string): DropReason | undefined {
    if (!isAllowed(address)) return 'network';
    const { maxConnections, maxConnectionsPerAddress } = limits;
    const ofAddress = byAddress.get(countedAs(address)) ?? 0;
    if (ofAddress >= maxConnectionsPerAddress && !makeRoom(waiting.ofSame(address))) {
      return 'too-many-of-address';
    }
    return open.size >= maxConnections && !makeRoom(waiting.ofAny(address))
      ? 'too-many'
      : undefined;
  }

  /** After a reset, a client may return from the same port before its old socket has closed. */
  function forgetEarlier(peer: string): void {
    const earlier = open.get(peer);
    if (earlier === undefined) return;
    forget(earlier);
    earlier.socket.destroy();
  }

  // The TCP connection; that of TLS is 'secureConnection'.
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) {
      // It was reset before it was accepted.
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    forgetEarlier(peer);
    const address = plainAddress(socket.remoteAddress);
    const refusal = refusalOf(address);
    if (refusal !== undefined) {
      dropped(refusal, address);
      socket.destroy();
      return;
    }
    const connection = { socket, address, peer, works: 0, isOver: false };
    open.set(peer, connection);
    waiting.add(connection, address);
    const counted = countedAs(address);
    byAddress.set(counted, (byAddress.get(counted) ?? 0) + 1);
    socket.once('close', () => forget(connection));
    admitted?.(socket);
  });
  const known = (socket: Peer, then: (connection: OpenConnection) => void): void => {
    const connection = open.get(peerOf(socket));
    if (connection !== undefined) then(connection);
  };
  return {
    count: () => open.size,
    atWork: (socket) =>
      known(socket, (connection) => {
        connection.works += 1;
        waiting.remove(connection, connection.address);
      }),
    waitFor: (socket) =>
      known(socket, (connection) => {
        // The answer belongs to an earlier connection from the same port.
        if (connection.works === 0) return;
        connection.works -= 1;
        if (connection.works === 0) waiting.add(connection, connection.address);
      }),
    destroyAll: () => {
      for (const { socket } of open.values()) socket.destroy();
    },
  };
}

interface OpenConnection {
  readonly socket: Socket;
  /** In canonical spelling. */
  readonly address: string;
  readonly peer: string;
  works: number;
  isOver: boolean;
}
