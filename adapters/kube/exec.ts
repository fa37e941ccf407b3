/** Runs a command in a container, over a WebSocket with Kubernetes' channels. */

import type { Readable, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import { messageOf } from '../../core/errors';
import { isRecord } from '../../core/is-record';
import { refusal, statusFrom, unreachable } from './api-errors';
import type { KubeClient } from './client';
import { pathOf, PODS } from './resources';

/** The one in which the end of the input can be said. */
const PROTOCOL = 'v5.channel.k8s.io';
const CHANNEL = { IN: 0, OUT: 1, ERR: 2, STATUS: 3, RESIZE: 4, CLOSE: 255 } as const;
/** A peer that vanished is noticed after two of them. */
const PING_MS = 20_000;

interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ExecOptions {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly command: readonly string[];
  readonly input?: Readable;
  readonly output: Writable;
  /** With a terminal, everything goes to `output`. */
  readonly errors: Writable;
  /** Of a terminal; absent = the command has none. */
  readonly terminal?: {
    size(): TerminalSize;
    /** Calls back when the size changes; returns a function that stops. */
    onResize(listener: () => void): () => void;
  };
  readonly signal: AbortSignal;
}

/**
 * @returns exit code of the command
 * @throws `ApiForbidden`, `ObjectNotFound`, `ApiUnavailable`, also when the signal was aborted
 */
export async function execInPod(client: KubeClient, options: ExecOptions): Promise<number> {
  const { namespace, pod: name, container, command, input, terminal, signal } = options;
  signal.throwIfAborted();
  const what = `exec in Pod ${namespace}/${name}`;
  const query = new URLSearchParams([
    ...[...command].map((word): [string, string] => ['command', word]),
    ['container', container],
    ['stdin', String(input !== undefined)],
    ['stdout', 'true'],
    ['stderr', String(terminal === undefined)],
    ['tty', String(terminal !== undefined)],
  ]);
  const path = pathOf(PODS, { namespace, name, subresource: 'exec' });
  const socket = await client.socket(path, query, { what, protocol: PROTOCOL });
  const stops = [stayAlive(socket)];
  const abort = (): void => socket.terminate();
  signal.addEventListener('abort', abort);
  try {
    // Meanwhile, too.
    if (signal.aborted) throw unreachable(what, 'it was interrupted');
    const ended = statusOf(socket, options, what);
    socket.resume();
    if (input !== undefined) stops.push(sendInput(socket, input));
    if (terminal !== undefined) {
      const send = (): void => sendSize(socket, terminal.size());
      send();
      stops.push(terminal.onResize(send));
    }
    return await ended;
  } finally {
    signal.removeEventListener('abort', abort);
    for (const stop of stops) stop();
    socket.terminate();
  }
}

/** The status is the last message. */
function statusOf(socket: WebSocket, options: ExecOptions, what: string): Promise<number> {
  const streams = new Map<number, Writable>([
    [CHANNEL.OUT, options.output],
    [CHANNEL.ERR, options.errors],
  ]);
  return new Promise((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      const channel = data[0] ?? CHANNEL.CLOSE;
      const body = data.subarray(1);
      if (channel === CHANNEL.STATUS) {
        Promise.resolve(body.toString())
          .then((text) => exitCodeIn(text, what))
          .then(resolve, reject);
        return;
      }
      const stream = streams.get(channel);
      if (stream === undefined || body.length === 0 || stream.write(body)) return;
      // A slow reader must not fill the memory.
      socket.pause();
      stream.once('drain', () => socket.resume());
    });
    socket.once('error', (error) => reject(unreachable(what, messageOf(error))));
    socket.once('close', () => reject(unreachable(what, 'the connection was closed')));
  });
}

function exitCodeIn(text: string, what: string): number {
  const status: unknown = JSON.parse(text);
  if (isRecord(status) && status['status'] === 'Success') return 0;
  const { causes, ...rest } = statusFrom(status, 500);
  const code = Number(causes.find(({ reason }) => reason === 'ExitCode')?.message);
  if (Number.isInteger(code)) return code;
  throw refusal(what, { ...rest, causes });
}

/** One piece at a time, so that a slow command does not fill the memory here. */
function sendInput(socket: WebSocket, input: Readable): () => void {
  const send = (chunk: Buffer): void => {
    input.pause();
    socket.send(Buffer.concat([Buffer.of(CHANNEL.IN), chunk]), () => input.resume());
  };
  const end = (): void => {
    if (socket.readyState === socket.OPEN) socket.send(Buffer.of(CHANNEL.CLOSE, CHANNEL.IN));
  };
  input.on('data', send);
  input.once('end', end);
  return () => {
    input.off('data', send);
    input.off('end', end);
    input.pause();
  };
}

function sendSize(socket: WebSocket, { columns, rows }: TerminalSize): void {
  if (socket.readyState !== socket.OPEN) return;
  const size = JSON.stringify({ Width: columns, Height: rows });
  socket.send(Buffer.concat([Buffer.of(CHANNEL.RESIZE), Buffer.from(size)]));
}

function stayAlive(socket: WebSocket): () => void {
  let answered = true;
  socket.on('pong', () => (answered = true));
  const timer = setInterval(() => {
    if (!answered && !socket.isPaused) return socket.terminate();
    answered = false;
    socket.ping();
  }, PING_MS);
  return () => clearInterval(timer);
}
