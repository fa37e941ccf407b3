/**
 * Starts TLS when a machine has sent something, in order of arrival and for no more machines than a
 * turn of the event loop can bear; the same for HTTP. A silent connection costs only a socket.
 */

import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { type Connections, peerOf } from '../connections';
import { createTurns } from './turns';

export interface ArrivalTimes {
  /** From the connection to its first byte, ms. */
  readonly hello: number;
  /** From the start of TLS, ms. */
  readonly handshake: number;
}

interface Arrivals {
  readonly hear: (socket: Socket) => void;
  /** Ends connections before TLS, and every later one. */
  readonly close: () => void;
}

/** At about a millisecond each. */
const HANDSHAKES_PER_TURN = 8;

/** First requests, at half a millisecond each. */
const REQUESTS_PER_TURN = 16;

/** Handshakes under way: one turn's work when all machines answer at once. */
const UNDER_WAY = 48;

/** How long a handshake counts as under way: a slow machine must not keep others out. */
const COUNTS_MS = 100;

type SlowedServer = Pick<HttpsServer, 'listeners' | 'on' | 'removeAllListeners'>;

/**
 * Takes new connections from the server and returns each in its turn.
 *
 * @param turn - told whether a machine that has sent something waits, or the server
 */
export function queueArrivals(
  server: SlowedServer,
  times: ArrivalTimes,
  turn: Pick<Connections, 'atWork' | 'waitFor'>,
): Arrivals {
  const beginTls = taken(server, 'connection');
  const beginHttp = taken(server, 'secureConnection');
  const handshakes = createTurns(HANDSHAKES_PER_TURN);
  const requests = createTurns(REQUESTS_PER_TURN);
  const silent = new Set<Socket>();
  const queue: Socket[] = [];
  const underWay = new Set<string>();
  const shaking = new Map<string, () => void>();
  let isClosed = false;

  function hear(socket: Socket): void {
    const lose = (): void => void socket.destroy();
    // Later, TLS has its own listener; before, there is no other.
    socket.on('error', lose);
    if (isClosed) return lose();
    silent.add(socket);
    const stopWaiting = afterPatience(times.hello, lose);
    const gone = (): void => {
      stopWaiting();
      silent.delete(socket);
    };
    socket.once('close', gone);
    socket.once('readable', () => {
      gone();
      socket.off('close', gone);
      // The connection closed instead.
      if (socket.readableLength === 0) return lose();
      turn.atWork(socket);
      queue.push(socket);
      advance();
    });
  }

  function advance(): void {
    while (underWay.size < UNDER_WAY) {
      const socket = queue.shift();
      if (socket === undefined) return;
      if (socket.destroyed) continue;
      const peer = peerOf(socket);
      underWay.add(peer);
      handshakes(1, () => begin(socket, peer));
    }
  }

  function begin(socket: Socket, peer: string): void {
    if (isClosed) socket.destroy();
    if (socket.destroyed) return leave(peer);
    const counts = setTimeout(() => leave(peer), COUNTS_MS);
    const stopWaiting = afterPatience(times.handshake, () => void socket.destroy());
    const over = (): void => {
      clearTimeout(counts);
      stopWaiting();
      shaking.delete(peer);
      leave(peer);
    };
    shaking.set(peer, over);
    socket.once('close', () => {
      if (shaking.get(peer) === over) over();
    });
    turn.waitFor(socket);
    beginTls(socket);
  }

  function leave(peer: string): void {
    if (underWay.delete(peer)) advance();
  }

  server.on('secureConnection', (socket: Socket) => {
    shaking.get(peerOf(socket))?.();
    socket.on('error', () => void socket.destroy());
    turn.atWork(socket);
    requests(1, () => {
      if (socket.destroyed) return;
      turn.waitFor(socket);
      beginHttp(socket);
    });
  });
  return {
    hear,
    close() {
      isClosed = true;
      for (const socket of [...silent, ...queue.splice(0)]) socket.destroy();
    },
  };
}

/**
 * Calls when the time is up and all received bytes are read: a timer that fires late says nothing
 * about the machine.
 *
 * @returns a function that stops it
 */
function afterPatience(ms: number, lose: () => void): () => void {
  let isOver = false;
  const timer = setTimeout(() => {
    setImmediate(() => {
      if (!isOver) lose();
    });
  }, ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

function taken(server: SlowedServer, event: string): (socket: Socket) => void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
}
