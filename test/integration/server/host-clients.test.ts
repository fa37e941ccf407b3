/** The host endpoint and faulty clients, without a cluster. */

import { once } from 'node:events';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { buildServer, type ServerDependencies } from '../../../server/app';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../tools/cluster/certificates';
import { allOf } from './machine-sockets';

/** Longer than a test, so that waiting for it fails. */
const NEVER = 300_000;
/** Short enough to wait for, and long enough for a handshake on a busy machine. */
const SHORT = { handshake: 3_000, headers: 2_000, request: 4_000, keepAlive: 2_000, idle: 8_000 };

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

async function start(given: Pick<ServerDependencies, 'limits' | 'timeouts'>) {
  const authority = await newAuthority('host-clients');
  const [server, node] = await Promise.all([
    issueCertificate(authority, {
      subject: { commonName: 'server' },
      use: CertificateUse.SERVER,
      addresses: ['127.0.0.1'],
    }),
    issueCertificate(authority, {
      subject: { commonName: 'system:node:worker-0', organizations: ['system:nodes'] },
      use: CertificateUse.CLIENT,
    }),
  ]);
  const ca = Buffer.from(authority.certificate);
  const { host, cutOffHosts } = buildServer({
    cluster: {
      node: () => undefined,
      nodes: () => [],
      pools: () => [],
      granted: () => [],
      machineConfigNode: () => undefined,
      policy: () => undefined,
      machineConfiguration: () => undefined,
      pinnedImageSets: () => [],
      missing: () => [],
      onMoved: () => () => undefined,
    },
    readMachineConfig: () => Promise.reject(new Error('nothing is read here')),
    readNode: () => Promise.reject(new Error('nothing is read here')),
    readPools: () => Promise.reject(new Error('nothing is read here')),
    writeDrift: () => Promise.reject(new Error('nothing is written here')),
    logger: pino({ level: 'silent' }),
    tls: {
      cert: Buffer.from(server.certificate),
      key: Buffer.from(server.key),
      ca,
      minVersion: 'TLSv1.2',
      ciphers: 'TLS_AES_128_GCM_SHA256',
      requestCert: true,
      rejectUnauthorized: true,
    },
    ...given,
  });
  await host.listen({ host: '127.0.0.1', port: 0 });
  stop = async () => {
    cutOffHosts();
    host.server.closeAllConnections();
    await host.close();
  };
  const { port } = host.server.address() as AddressInfo;
  return {
    tcp: async (): Promise<Socket> => {
      const socket = connectTcp({ host: '127.0.0.1', port });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    },
    tls: async (): Promise<TLSSocket> => {
      const socket = connect({
        host: '127.0.0.1',
        port,
        ca,
        cert: node.certificate,
        key: node.key,
      });
      await once(socket, 'secureConnect');
      socket.on('error', () => undefined);
      return socket;
    },
  };
}

const REQUEST = 'GET /host/configs/rendered-worker-1 HTTP/1.1\r\nHost: a\r\n';

const REPORT = 'PUT /host/report HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';

/** The body of the only answer, whose status is that of its first line. */
function refusalIn(answer: string): unknown {
  const [head = '', body = '', ...more] = answer.split('\r\n\r\n');
  expect(more).toEqual([]);
  expect(head).toMatch(/\r\ncontent-type: application\/json; charset=utf-8(\r\n|$)/i);
  const refusal = JSON.parse(body) as { readonly status: number };
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${refusal.status} `));
  return refusal;
}

describe('clients of the host endpoint', () => {
  it('that are slow lose their connection, before the handshake and in their headers', async () => {
    const server = await start({ timeouts: SHORT });
    const [mute, slow] = [await server.tcp(), await server.tls()];
    slow.write(REQUEST);
    const drip = setInterval(() => slow.write('X: y\r\n'), 50);

    const [nothing, answer] = await Promise.all([allOf(mute), allOf(slow)]);
    clearInterval(drip);

    expect(nothing).toBe('');
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  }, 20_000);

  it('that are slow with a body are told so', async () => {
    const server = await start({ timeouts: SHORT });
    const slow = await server.tls();
    slow.write(`${REPORT}Content-Length: 1000\r\n\r\n`);
    const drip = setInterval(() => slow.write(' '), 50);

    const answer = await allOf(slow);
    clearInterval(drip);

    expect(refusalIn(answer)).toMatchObject({ status: 408, reason: 'RequestTimeout' });
  }, 20_000);

  it.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    [
      'a body of two lengths',
      `${REPORT}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`,
      400,
    ],
    ['headers without an end', `${REQUEST}X: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    ['no host', 'GET /host/report HTTP/1.1\r\n\r\n', 400],
    ['two hosts', `${REQUEST}host: b\r\n\r\n`, 400],
    ['HTTP/2.0', 'GET /host/report HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['more to expect', `${REPORT}Expect: tea\r\nContent-Length: 5\r\n\r\n`, 417],
    ['a method of no server', 'BREW /host/report HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ])('that ask with %s are refused in the form of every refusal', async (_what, text, status) => {
    const server = await start({});
    const socket = await server.tls();
    socket.write(text, 'latin1');

    const answer = await allOf(socket);

    expect(refusalIn(answer)).toMatchObject({
      status,
      reason: expect.stringMatching(/^[A-Z]/) as string,
      message: expect.stringMatching(/./) as string,
    });
    expect(/\r\nallow: (.*)\r\n/i.exec(answer)?.[1]).toBe(
      status === 405 ? 'GET, HEAD, PUT' : undefined,
    );
  });

  it('that end in the middle of a body are refused in that form, too', async () => {
    const server = await start({});
    const socket = await server.tls();
    socket.end(`${REPORT}Content-Length: 1000\r\n\r\n{"config"`);

    expect(refusalIn(await allOf(socket))).toMatchObject({ status: 400, reason: 'BadRequest' });
  });

  it('that are too many of one address are closed, while the others are answered', async () => {
    const server = await start({
      limits: { maxConnections: 10, maxConnectionsPerAddress: 2 },
      timeouts: { patience: NEVER },
    });
    const [idle, good] = [await server.tcp(), await server.tls()];
    const closed = once(await server.tcp(), 'close');

    await closed;

    good.write(`${REQUEST}Connection: close\r\n\r\n`);
    expect(await allOf(good)).toMatch(/^HTTP\/1\.1 503 /);
    idle.destroy();
  });

  it.each([
    ['the server', { maxConnections: 20, maxConnectionsPerAddress: 1_000 }],
    ['their address', { maxConnections: 1_000, maxConnectionsPerAddress: 20 }],
  ])('that are silent and fill %s keep no host out', async (_what, limits) => {
    const server = await start({
      limits,
      timeouts: { handshake: NEVER, headers: NEVER, request: NEVER, idle: NEVER, patience: 0 },
    });
    const silent: Socket[] = [];
    for (let i = 0; i < 10; i += 1) silent.push(await server.tcp(), await server.tls());

    for (let i = 0; i < 5; i += 1) {
      const host = await server.tls();
      host.write(`${REQUEST}Connection: close\r\n\r\n`);
      expect(await allOf(host)).toMatch(/^HTTP\/1\.1 503 /);
    }
    for (const socket of silent) socket.destroy();
  });
});
