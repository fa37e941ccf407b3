/**
 * Machines that ask the server for their first config, in their own process. The client reads as
 * little as possible: otherwise it would measure itself.
 */

import { connect as connectTcp, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

export interface LoadJob {
  readonly port: number;
  readonly authority: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  /** On the same connections; absent = each machine asks once and disconnects. */
  readonly seconds?: number;
  readonly idle?: number;
}

export interface LoadResult {
  readonly requests: number;
  /** By status, or code of an error. */
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly bytes: number;
  /** Includes the connection when each machine asks once. */
  readonly latenciesMs: readonly number[];
  readonly processorMs: number;
  /** When the last machine had its answer. */
  readonly idleOpen: number;
}

interface Tally {
  readonly latenciesMs: number[];
  readonly failures: Record<string, number>;
  bytes: number;
}

const SILENCE_MS = 60_000;

async function runLoad(job: LoadJob): Promise<LoadResult> {
  const tally: Tally = { latenciesMs: [], failures: {}, bytes: 0 };
  const idle = await Promise.all(
    Array.from({ length: job.idle ?? 0 }, (_, i) => openIdle(job.port, i, tally)),
  );
  const before = process.cpuUsage();
  const begun = performance.now();
  const until = job.seconds === undefined ? undefined : begun + job.seconds * 1000;
  await Promise.all(
    Array.from({ length: job.connections }, (_, i) => runMachine({ ...job, until }, i, tally)),
  );
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - begun) / 1000;
  const idleOpen = idle.filter((socket) => socket?.readyState === 'open').length;
  for (const socket of idle) socket?.destroy();
  return {
    requests: tally.latenciesMs.length,
    failures: tally.failures,
    seconds,
    idleOpen,
    bytes: tally.bytes,
    latenciesMs: tally.latenciesMs,
    processorMs: (user + system) / 1000,
  };
}

/** Otherwise the server's limit for one address would bind all machines. */
function addressOf(machine: number): string {
  return `127.0.${1 + (machine % 10)}.${1 + (Math.floor(machine / 10) % 250)}`;
}

function fail(tally: Tally, reason: string): void {
  tally.failures[reason] = (tally.failures[reason] ?? 0) + 1;
}

/** Undefined = it could not be opened. */
function openIdle(port: number, index: number, tally: Tally): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host: '127.0.0.1', port, localAddress: addressOf(index) });
    socket.once('connect', () => {
      resolve(socket);
    });
    // An error later only closes the connection.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (socket.connecting) fail(tally, `idle: ${error.code ?? 'error'}`);
      resolve(undefined);
    });
  });
}

function runMachine(
  job: LoadJob & { readonly until: number | undefined },
  index: number,
  tally: Tally,
): Promise<void> {
  const { until } = job;
  const request = requestText(job, until === undefined);
  return new Promise((resolve) => {
    let begun = performance.now();
    let reply = new Reply();
    const from: ConnectionOptions & Pick<TcpNetConnectOpts, 'localAddress'> = {
      host: '127.0.0.1',
      port: job.port,
      ca: job.authority,
      localAddress: addressOf(index),
    };
    const socket = connect(from);
    const end = (failure?: string): void => {
      if (failure !== undefined) fail(tally, failure);
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      socket.destroy();
      resolve();
    };
    socket.setTimeout(SILENCE_MS, () => {
      end('silence');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      end(error.code ?? 'error');
    });
    socket.once('close', () => {
      end('closed early');
    });
    socket.once('secureConnect', () => {
      if (until !== undefined) begun = performance.now();
      send(socket, request);
    });
    socket.on('data', (chunk: Buffer) => {
      if (!reply.take(chunk)) return;
      if (reply.status !== 200) {
        end(`status ${reply.status}`);
        return;
      }
      const now = performance.now();
      tally.latenciesMs.push(now - begun);
      tally.bytes = reply.length;
      if (until === undefined || now >= until) {
        end();
        return;
      }
      reply = new Reply();
      begun = now;
      send(socket, request);
    });
  });
}

function send(socket: TLSSocket, request: string): void {
  socket.write(request);
}

function requestText({ path, headers }: LoadJob, isLast: boolean): string {
  const lines = Object.entries({
    Host: 'localhost',
    ...headers,
    Connection: isLast ? 'close' : 'keep-alive',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Keeps none of the bytes. */
class Reply {
  status = 0;
  length = 0;
  #head = '';
  #left: number | undefined;

  /** @returns whether the reply is complete */
  take(chunk: Buffer): boolean {
    if (this.#left !== undefined) {
      this.#left -= chunk.length;
      return this.#left <= 0;
    }
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0) return false;
    this.status = Number(this.#head.slice(9, 12));
    this.length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1] ?? 0);
    this.#left = this.length - (this.#head.length - end - 4);
    this.#head = '';
    return this.#left <= 0;
  }
}

process.on('message', (job: LoadJob) => {
  void runLoad(job).then((result) => process.send?.(result));
});
