/**
 * Bounds on connections: how many at once, in all and of one address, and how long each may take. What
 * is too much is closed before TLS costs anything.
 */

import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
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
} as const;

/** Why a new connection is closed at once. */
export type DropReason = 'too-many' | 'too-many-of-address' | 'network';

/** The part of a server that is bounded. */
type BoundedServer = Pick<HttpsServer, 'maxConnections' | 'on'>;

/** The open connections of a server. */
export interface Connections {
  readonly count: () => number;
  /** Ends all of them, whatever they are at. */
  readonly destroyAll: () => void;
}

/** Keeps the server within the limits. */
export function limitConnections(
  server: BoundedServer,
  limits: ConnectionLimits,
  told: {
    /** `address` is absent where the server has looked at nothing of the connection. */
    readonly dropped: (reason: DropReason, address?: string) => void;
    /** Of every connection that may stay. */
    readonly admitted?: ((socket: Socket) => void) | undefined;
    /** Whether an address may connect at all; absent = every one. */
    readonly isAllowed?: ((address: string) => boolean) | undefined;
  },
): Connections {
  const { dropped, admitted, isAllowed = () => true } = told;
  const byAddress = new Map<string, number>();
  const open = new Set<Socket>();
  server.maxConnections = limits.maxConnections;
  server.on('drop', () => dropped('too-many'));
  // The connection of TCP; that of TLS is 'secureConnection'.
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    const counted = countedAs(address);
    const ofAddress = byAddress.get(counted) ?? 0;
    const refusal = refusalOf(isAllowed(address), ofAddress, limits);
    if (refusal !== undefined) {
      dropped(refusal, address);
      socket.destroy();
      return;
    }
    open.add(socket);
    byAddress.set(counted, ofAddress + 1);
    socket.once('close', () => {
      open.delete(socket);
      const left = (byAddress.get(counted) ?? 1) - 1;
      if (left === 0) byAddress.delete(counted);
      else byAddress.set(counted, left);
    });
    admitted?.(socket);
  });
  return {
    count: () => open.size,
    destroyAll: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

function refusalOf(
  isAllowed: boolean,
  ofAddress: number,
  { maxConnectionsPerAddress }: ConnectionLimits,
): DropReason | undefined {
  if (!isAllowed) return 'network';
  return ofAddress >= maxConnectionsPerAddress ? 'too-many-of-address' : undefined;
}
