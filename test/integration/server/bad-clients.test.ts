import type { Socket } from 'node:net';
import { join } from 'node:path';
import { ServerSettings } from '../../../server/settings';
import type { Preparer } from '../../../server/ignition/prepare';
import { createThreadPreparer } from '../../../server/ignition/thread-preparer';
import { repositoryRoot } from '../../../tools/repository-root';
import {
  aConfig,
  allOf,
  bytesPreparer,
  REQUEST,
  startMachineServer,
  statusOf,
  tcpTo,
  tlsTo,
  type MachineServer,
} from './machine-sockets';

jest.setTimeout(120_000);

/** Short enough to wait for; `connections.ts` has the values of a cluster. */
const SHORT = {
  hello: 2_000,
  handshake: 2_000,
  headers: 2_000,
  request: 3_000,
  keepAlive: 2_000,
  idle: 5_000,
};
/** Longer than a test, so that waiting for it fails. */
const NEVER = 300_000;
const FOREVER = {
  hello: NEVER,
  handshake: NEVER,
  headers: NEVER,
  request: NEVER,
  keepAlive: NEVER,
  idle: NEVER,
};
/** Begins a handshake whose rest never comes: the head of a record of 512 bytes. */
const HALF_A_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]);
/** More bytes than a socket takes at once. */
const LARGE = 64 * 1024 * 1024;

const THREAD = join(repositoryRoot(), 'dist', 'server', 'ignition', 'prepare-thread.js');

const neverPreparer: Preparer = {
  prepare: () => new Promise(() => undefined),
  close: () => Promise.resolve(),
};

const servers: MachineServer[] = [];

async function start(options: Parameters<typeof startMachineServer>[0] = {}) {
  const server = await startMachineServer(options);
  servers.push(server);
  return server;
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

describe('slow clients', () => {
  it('lose a connection on which they say nothing', async () => {
    const server = await start({ timeouts: SHORT });
    const [mute, silent] = await Promise.all([tcpTo(server), tlsTo(server)]);

    await Promise.all([allOf(mute), allOf(silent)]);

    await server.whenOpen(0);
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
  });

  it('lose it in the middle of their headers', async () => {
    const server = await start({ timeouts: SHORT });
    const socket = await tlsTo(server);
    socket.write(REQUEST);
    const drip = setInterval(() => socket.write('X: y\r\n'), 100);

    const answer = await allOf(socket);
    clearInterval(drip);

    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('\r\nContent-Length: 0\r\n');
  });

  it('lose it when they do not take their answer', async () => {
    const server = await start({ preparer: bytesPreparer(LARGE), timeouts: { answer: 2_000 } });
    const socket = await tlsTo(server);
    socket.pause();
    socket.write(`${REQUEST}\r\n`);

    await server.whenCounted('dropped slow');

    await server.whenOpen(0);
    socket.destroy();
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
  });
});

describe('half-closed clients', () => {
  it('get their answer, and leave no connection behind, whether they have asked or not', async () => {
    const server = await start({ timeouts: SHORT });
    const [asked, mute] = await Promise.all([
      tlsTo(server, { allowHalfOpen: true }),
      tlsTo(server, { allowHalfOpen: true }),
    ]);
    asked.end(`${REQUEST}\r\n`);
    mute.end();

    const [answer, nothing] = await Promise.all([allOf(asked), allOf(mute)]);

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(answer).toContain('"ignition"');
    expect(nothing).toBe('');
    await server.whenOpen(0);
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
  });

  it('get an answer that takes its time', async () => {
    let prepare: () => void = () => undefined;
    const prepared = new Promise<void>((resolve) => {
      prepare = resolve;
    });
    const { prepare: bytesOf, close } = bytesPreparer(1_000);
    const server = await start({
      preparer: { prepare: (job) => prepared.then(() => bytesOf(job)), close },
    });
    const socket = await tlsTo(server, { allowHalfOpen: true });
    const answer = allOf(socket);
    await new Promise<void>((resolve) => socket.end(`${REQUEST}\r\n`, resolve));
    // This answer shows that the server has seen the end of the first connection.
    expect(await statusOf(server, '/healthz')).toBe('HTTP/1.1 200 OK');
    prepare();

    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK/);
    await server.whenOpen(0);
  });

  it('get all of an answer that no socket takes at once', async () => {
    const server = await start({ preparer: bytesPreparer(LARGE) });
    const socket = await tlsTo(server, { allowHalfOpen: true });
    socket.end(`${REQUEST}\r\n`);

    const answer = await allOf(socket);

    expect(answer.length).toBeGreaterThan(LARGE);
    await server.whenOpen(0);
  });

  it('may vanish in the middle of an answer', async () => {
    const server = await start({ preparer: bytesPreparer(LARGE) });
    const socket = await tlsTo(server);
    socket.write(`${REQUEST}\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));

    socket.destroy();

    await server.whenCounted('dropped gone');
    await server.whenOpen(0);
    expect(server.counted).toEqual(['dropped gone']);
    expect(server.logged).toMatchObject([
      {
        msg: 'first config not received to its end',
        pool: 'worker',
        config: 'rendered-worker-1',
        address: '127.0.0.1',
        status: 200,
        complete: false,
      },
    ]);
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
    await server.whenCounted('answered /config/:pool 200');
    expect(server.counted).toEqual([
      'dropped gone',
      'sent 2.2 identity',
      'answered /config/:pool 200',
    ]);
    expect(server.logged.at(-1)).toMatchObject({ msg: 'first config sent', complete: true });
  });

  it('may vanish before there is an answer', async () => {
    const server = await start({ preparer: neverPreparer, timeouts: { idle: 1_000 } });
    const socket = await tlsTo(server);
    await new Promise<void>((resolve) => socket.write(`${REQUEST}\r\n`, () => resolve()));
    // This answer shows that the server has received the first request.
    expect(await statusOf(server, '/healthz')).toBe('HTTP/1.1 200 OK');

    // An orderly end could be that of a client that has sent its whole request.
    socket.destroy();

    await server.whenCounted('dropped gone');
    expect(server.logged).toMatchObject([{ pool: 'worker', complete: false }]);
  });
});

describe('connections from elsewhere', () => {
  it('are closed before TLS, named in the log once, and count against nobody', async () => {
    const limits = { maxConnections: 50, maxConnectionsPerAddress: 1 };
    const allowed = new Set<string>();
    const server = await start({ limits, isAllowed: (address) => allowed.has(address) });

    await expect(tlsTo(server)).rejects.toThrow();
    await expect(tlsTo(server)).rejects.toThrow();

    expect(server.counted).toEqual(['dropped network', 'dropped network']);
    expect(server.logged).toMatchObject([{ address: '127.0.0.1', level: 40 }]);
    expect(server.logged).toHaveLength(1);
    allowed.add('127.0.0.1');
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
  });
});

describe('silent connections', () => {
  /** Opens that many connections of each kind; none of them goes on. */
  async function fill(server: MachineServer, each: number): Promise<Socket[]> {
    const many = (make: () => Promise<Socket>) =>
      Promise.all(Array.from({ length: each }, () => make()));
    const mute = await many(() => tcpTo(server));
    const half = await many(() => tcpTo(server));
    for (const socket of half) socket.write(HALF_A_HELLO);
    const idle = await many(() => tlsTo(server));
    const headers = await many(() => tlsTo(server));
    for (const socket of headers) socket.write(REQUEST);
    return [...mute, ...half, ...idle, ...headers];
  }

  it.each([
    ['the server', { maxConnections: 40, maxConnectionsPerAddress: 1_000 }],
    ['their address', { maxConnections: 1_000, maxConnectionsPerAddress: 40 }],
  ])('fill %s, and keep no machine out', async (_what, limits) => {
    const server = await start({ limits, timeouts: { ...FOREVER, patience: 0 } });
    const silent = await fill(server, 10);
    await server.whenOpen(40);

    const answers = await Promise.all(Array.from({ length: 20 }, () => statusOf(server)));

    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 200 OK']));
    expect(server.counted).toContain('dropped gave-way');
    for (const socket of silent) socket.destroy();
    await server.whenOpen(0);
  });

  it('are not those whose answer is under way', async () => {
    const limits = { maxConnections: 40, maxConnectionsPerAddress: 40 };
    const { prepare: bytesOf, close } = bytesPreparer(1_000);
    let prepare: () => void = () => undefined;
    const prepared = new Promise<void>((resolve) => {
      prepare = resolve;
    });
    const server = await start({
      limits,
      timeouts: { ...FOREVER, patience: 0 },
      preparer: { prepare: (job) => prepared.then(() => bytesOf(job)), close },
    });
    const asked = await tlsTo(server);
    const answer = allOf(asked);
    asked.write(`${REQUEST}Connection: close\r\n\r\n`);
    // This answer shows that the server has received the first request.
    expect(await statusOf(server, '/healthz')).toBe('HTTP/1.1 200 OK');

    const silent = await fill(server, 10);
    expect(server.counted).toContain('dropped gave-way');
    prepare();

    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK/);
    for (const socket of silent) socket.destroy();
  });
});

describe('10,000 idle connections', () => {
  it('leave the server to those that ask', async () => {
    const { maxConnections, maxConnectionsPerAddress } = ServerSettings.parse({
      ...{ certificateFile: 'a', keyFile: 'b', bootstrapDir: 'c' },
    });
    const server = await start({
      limits: { maxConnections, maxConnectionsPerAddress },
      timeouts: { hello: NEVER, patience: 0 },
    });
    const idle: Socket[] = [];
    while (idle.length < 10_000) {
      idle.push(...(await Promise.all(Array.from({ length: 500 }, () => tcpTo(server)))));
    }

    const answers = await Promise.all(Array.from({ length: 20 }, () => statusOf(server)));

    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 200 OK']));
    expect(server.connections()).toBeLessThanOrEqual(maxConnectionsPerAddress);
    for (const socket of idle) socket.destroy();
    await server.whenOpen(0);
  });
});

describe('too many connections', () => {
  const timeouts = { patience: NEVER };

  it('are closed before TLS, while those that are open are served', async () => {
    const limits = { maxConnections: 50, maxConnectionsPerAddress: 1_000 };
    const server = await start({ limits, timeouts });
    const first = await tlsTo(server);
    const idle = await Promise.all(Array.from({ length: 49 }, () => tcpTo(server)));
    await server.whenOpen(50);

    const refused = await Promise.all(Array.from({ length: 100 }, () => tcpTo(server)));
    await Promise.all(refused.map(allOf));

    expect(server.connections()).toBe(50);
    expect(server.counted.filter((line) => line === 'dropped too-many')).toHaveLength(100);
    first.write(`${REQUEST}Connection: close\r\n\r\n`);
    expect(await allOf(first)).toMatch(/^HTTP\/1\.1 200 OK/);
    for (const socket of idle) socket.destroy();
    await server.whenOpen(0);
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
  });

  it('of one address are closed, too', async () => {
    const limits = { maxConnections: 1_000, maxConnectionsPerAddress: 20 };
    const server = await start({ limits, timeouts });
    const idle = await Promise.all(Array.from({ length: 20 }, () => tcpTo(server)));
    await server.whenOpen(20);

    const refused = await Promise.all(Array.from({ length: 30 }, () => tcpTo(server)));
    await Promise.all(refused.map(allOf));

    expect(server.connections()).toBe(20);
    expect(server.counted).toContain('dropped too-many-of-address');
    idle[0]?.destroy();
    await server.whenOpen(19);
    expect(await statusOf(server)).toBe('HTTP/1.1 200 OK');
    for (const socket of idle) socket.destroy();
  });
});

describe('methods that no parser knows', () => {
  const answerTo = async (text: string): Promise<string> => {
    const server = await start();
    const socket = await tlsTo(server);
    socket.write(text);
    const answer = await allOf(socket);
    await server.whenOpen(0);
    return answer;
  };

  it.each([
    'BREW /config/worker',
    'X-Y! /',
    'brew /healthz',
    'CONNECT /config/worker',
    'CONNECT a:443',
  ])('%s is a method that is not allowed', async (line) => {
    const answer = await answerTo(`${line} HTTP/1.1\r\nHost: a\r\n\r\n`);

    expect(answer).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    expect(answer.split('\r\n\r\n')[1]).toBe('');
  });
});

describe("what Go's server would do", () => {
  it.each([
    ['asks for the server itself', 'OPTIONS * HTTP/1.1\r\nHost: a', 'HTTP/1.1 200 OK'],
    ['gets the server itself', 'GET * HTTP/1.1\r\nHost: a', 'HTTP/1.1 400 Bad Request'],
    ['is of HTTP/1.0 and names no host', 'GET /healthz HTTP/1.0', 'HTTP/1.1 200 OK'],
  ])('answers who %s', async (_who, head, status) => {
    const server = await start();
    const socket = await tlsTo(server);
    socket.write(`${head}\r\nConnection: close\r\n\r\n`);

    expect(await allOf(socket)).toContain(`${status}\r\n`);
  });

  it.each([
    ['3.1.0', '3.4.0'],
    ['3.4.0', '3.1.0'],
  ])('takes the first of two Accept headers: %s, then %s', async (first, second) => {
    const server = await start();
    const socket = await tlsTo(server);
    const accept = (version: string) =>
      `Accept: application/vnd.coreos.ignition+json;version=${version}\r\n`;
    socket.write(`${REQUEST}${accept(first)}${accept(second)}Connection: close\r\n\r\n`);

    expect(await allOf(socket)).toContain(`"version":"${first}"`);
  });
});

describe('requests that are none', () => {
  it.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['another protocol', 'BREW /config/worker COFFEE/1.1\r\nHost: a\r\n\r\n', 400],
    ['a NUL in the path', 'GET /config/wor\0ker HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['one that names no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['one that names two hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n', 400],
    ['one of HTTP/0.9', 'GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n', 505],
    ['one of HTTP/2.0', 'GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['one that expects more', 'GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n', 417],
    ['headers without an end', `${REQUEST}X: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    ['a path without an end', `GET /config/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
    [
      'headers of which much is still under way',
      `${REQUEST}X: ${'y'.repeat(400_000)}\r\n\r\n`,
      431,
    ],
  ])('%s is refused without a body', async (_what, text, status) => {
    const server = await start();
    const socket = await tlsTo(server);
    socket.write(text, 'latin1');

    const answer = await allOf(socket);

    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.split('\r\n\r\n')[1]).toBe('');
  });

  it('are those without TLS, and with a TLS that is too old', async () => {
    const server = await start();
    const plain = await tcpTo(server);
    plain.write(`${REQUEST}\r\n`);

    expect(await allOf(plain)).not.toContain('HTTP/1.1 200');
    await expect(tlsTo(server, { maxVersion: 'TLSv1.1' })).rejects.toThrow();
  });
});

describe('a large config', () => {
  it('is prepared in a thread, so that others are answered meanwhile', async () => {
    const machineConfig = aConfig('x'.repeat(2 * 1024 * 1024));
    const server = await start({ machineConfig, preparer: createThreadPreparer(THREAD) });
    const health = await tlsTo(server);

    const large = statusOf(server);
    let answers = 0;
    let isOver = false;
    health.on('data', () => {
      answers += 1;
      if (!isOver) health.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    });
    health.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await large).toBe('HTTP/1.1 200 OK');
    isOver = true;

    // Preparing in this process would answer one or two.
    expect(answers).toBeGreaterThan(10);
    health.destroy();
  });
});
