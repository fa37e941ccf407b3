/**
 * Bounds on connections: how many at once, in all and of one address, and how long each may take. What
 * is too much is closed before TLS costs anything; first of all those go that leave the server waiting.
 */

import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { createWaiting } from './waiting-connections';
import { countedAs, plainAddress } from './join-networks';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** An address of IPv6 is its /64. */
  readonly maxConnectionsPerAddress: number;
}

/**
 * Times of a connection, in milliseconds. A silent one costs little, and machines that share a slow network,
 * or a busy host of virtual machines, take their time.
 */
export const TIMEOUTS = {
  /** From the connection to its first byte. */
  hello: 30_000,
  /** From the beginning of TLS to the end of the handshake. */
  handshake: 30_000,
  /** From the connection, or the last answer, to the end of the next request's headers. */
  headers: 30_000,
  /** The same to the end of its body, which nobody needs. */
  request: 35_000,
  /** Between requests. */
  keepAlive: 10_000,
  /** Without a byte in either direction. */
  idle: 30_000,
  /** From a request to the last byte of its answer: 15 MB at a hundred kilobytes a second. */
  answer: 150_000,
  /** So long a connection keeps its place without a word when others of its address have none. */
  patience: 1_000,
} as const;

/** Why a connection is closed: a new one at once, or one that the server waits for (`gave-way`). */
export type DropReason = 'too-many' | 'too-many-of-address' | 'network' | 'gave-way';

/** The part of a server that is bounded. */
type BoundedServer = Pick<HttpsServer, 'on'>;

/** The open connections of a server. A connection is named by TCP's socket, or by that of TLS on it. */
export interface Connections {
  readonly count: () => number;
  /** From now on it is this server's turn: the connection gives way to nobody. */
  readonly atWork: (socket: Peer) => void;
  /**
   * Once for each `atWork`, because a client may ask again before it has its answer: when all is done it is
   * the client's turn, as when a connection begins, and where there is no room, it gives way.
   */
  readonly waitFor: (socket: Peer) => void;
  /** Ends all of them, whatever they are at. */
  readonly destroyAll: () => void;
}

/** What names a connection. */
export type Peer = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

/**
 * The same for a connection and for the TLS on it. From one port, a client may connect to several addresses
 * of a server.
 */
export function peerOf({ remoteAddress, remotePort, localAddress, localPort }: Peer): string {
  return [remoteAddress, remotePort, localAddress, localPort].join(' ');
}

/** Keeps the server within the limits. */
export function limitConnections(
  server: BoundedServer,
  limits: ConnectionLimits,
  told: {
    readonly dropped: (reason: DropReason, address: string) => void;
    /** Of every connection that may stay. */
    readonly admitted?: ((socket: Socket) => void) | undefined;
    /** Whether an address may connect at all; absent = every one. */
    readonly isAllowed?: ((address: string) => boolean) | undefined;
    /** Milliseconds, as `TIMEOUTS` has it. */
    readonly patience?: number | undefined;
    /** Milliseconds of a clock that never goes back; the default is the process'. */
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

  /** False = there is nobody who gives way. */
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

  /** A client that was reset may come back from the same port before its old socket has closed. */
  function forgetEarlier(peer: string): void {
    const earlier = open.get(peer);
    if (earlier === undefined) return;
    forget(earlier);
    earlier.socket.destroy();
  }

  // The connection of TCP; that of TLS is 'secureConnection'.
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) {
      // Reset before it was accepted: nobody is there.
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
        // Of an answer that ended with an earlier connection from the same port.
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
  /** In one spelling. */
  readonly address: string;
  readonly peer: string;
  /** What the server is at for it. */
  works: number;
  /** No longer counted. */
  isOver: boolean;
}
