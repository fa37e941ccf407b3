import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ArrivalTimes } from '../../../server/ignition/arrivals';
import {
  allOf,
  REQUEST,
  startMachineServer,
  statusOf,
  tcpTo,
  type MachineServer,
} from './machine-sockets';

jest.setTimeout(120_000);

/** Longer than the test, so that waiting for it fails. */
const NEVER = 600_000;
/** Begins a handshake whose rest never comes: the head of a record of 512 bytes. */
const HALF_A_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]);

const servers: MachineServer[] = [];

async function start(timeouts: Partial<ArrivalTimes> = {}): Promise<MachineServer> {
  const server = await startMachineServer({ timeouts });
  servers.push(server);
  return server;
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

/** A machine in a thread; counts its sent messages in `said`: its hello, then its request. */
const MACHINE = `
const { connect } = require('node:tls');
const { parentPort, workerData } = require('node:worker_threads');
const { port, ca, request, said } = workerData;
const count = () => { Atomics.add(said, 0, 1); Atomics.notify(said, 0); };
let answer = '';
const socket = connect({ host: '127.0.0.1', port, ca });
socket.once('connect', () => setImmediate(() => setImmediate(count)));
socket.once('secureConnect', () => socket.write(request, count));
socket.on('data', (part) => { answer += part; });
socket.once('error', (error) => { answer += error.code; });
socket.once('close', () => {
  // Nothing more comes; the test need not wait for it.
  Atomics.store(said, 0, 100);
  parentPort.postMessage(answer);
});
`;

describe('a server that gets no processor for longer than a handshake may take', () => {
  it('serves the machine whose bytes have been waiting for it', async () => {
    const server = await start({ hello: 50, handshake: 50 });
    const said = new Int32Array(new SharedArrayBuffer(4));
    /** Blocks the event loop until the machine has sent that many messages, so that every timer is late. */
    const stall = (count: number): void => {
      const until = performance.now() + 100;
      while (Atomics.load(said, 0) < count || performance.now() < until) {
        Atomics.wait(said, 0, Atomics.load(said, 0), 10);
      }
    };
    server.onConnection(() => {
      stall(1);
      // This turn reads nothing; the next one begins the handshake, and then the loop blocks again.
      setImmediate(() => setImmediate(() => stall(2)));
    });

    const machine = new Worker(MACHINE, {
      eval: true,
      workerData: {
        port: server.port,
        ca: server.ca,
        request: `${REQUEST}Connection: close\r\n\r\n`,
        said,
      },
    });
    const [answer] = (await once(machine, 'message')) as [string];

    expect(answer.slice(0, 15)).toBe('HTTP/1.1 200 OK');
    await machine.terminate();
  });
});

describe('machines that come in a crowd', () => {
  it('are all served, though many in front of them never go on', async () => {
    const server = await start({ handshake: NEVER });
    const stuck = await Promise.all(Array.from({ length: 150 }, () => tcpTo(server)));
    for (const socket of stuck) socket.write(HALF_A_HELLO);

    const answers = await Promise.all(Array.from({ length: 150 }, () => statusOf(server)));

    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 200 OK']));
    for (const socket of stuck) socket.destroy();
    await server.whenOpen(0);
  });
});

describe('a handshake that does not end', () => {
  it('is closed without an answer, since no request was seen', async () => {
    const server = await start({ hello: NEVER, handshake: 200 });
    const socket = await tcpTo(server);
    socket.write(HALF_A_HELLO);

    expect(await allOf(socket)).toBe('');
    await server.whenOpen(0);
  });

  it('holds nothing when its machine goes', async () => {
    const server = await start({ hello: NEVER, handshake: NEVER });
    const gone = await Promise.all(Array.from({ length: 3 }, () => tcpTo(server)));
    gone[0]?.end(HALF_A_HELLO);
    gone[1]?.end();
    await server.whenOpen(1);
    gone[2]?.destroy();

    await server.whenOpen(0);
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
  });
});

describe('a server that stops', () => {
  it('waits for no machine that has said nothing', async () => {
    const server = await start({ hello: NEVER });
    const socket = await tcpTo(server);
    await server.whenOpen(1);

    servers.pop();
    await server.stop();

    expect(await allOf(socket)).toBe('');
  });
});
