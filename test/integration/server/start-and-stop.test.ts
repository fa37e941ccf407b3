/** How the process opens and closes its ports during the installation of a cluster. */

import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type RunningServer } from '../../../server/main';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../tools/cluster/certificates';
import { preparerHere } from './preparer-here';

/** Begins a handshake whose rest never comes: the head of a record of 512 bytes. */
const HALF_A_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]);

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'slipway-server-'));
  const authority = await newAuthority('start-and-stop');
  const { certificate, key } = await issueCertificate(authority, {
    subject: { commonName: 'server' },
    use: CertificateUse.SERVER,
    addresses: ['127.0.0.1'],
  });
  await writeFile(join(work, 'tls.crt'), certificate);
  await writeFile(join(work, 'tls.key'), key);
  await mkdir(join(work, 'bootstrap'));
});
afterEach(() => rm(work, { recursive: true }));

function start(
  ports: { readonly ignitionPort: number; readonly plainPort: number },
  signal: AbortSignal,
): Promise<RunningServer> {
  return startServer(
    {
      address: '127.0.0.1',
      plainAddress: '127.0.0.1',
      ...ports,
      certificateFile: join(work, 'tls.crt'),
      keyFile: join(work, 'tls.key'),
      bootstrapDir: join(work, 'bootstrap'),
      logLevel: 'silent',
    },
    signal,
    { preparer: preparerHere, closingMs: 500 },
  );
}

/** A port that stays taken until the server is closed. */
async function taken(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

async function connected(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  return socket;
}

describe('a server', () => {
  it('that cannot have its second port says which, and leaves the first', async () => {
    const [first, second] = await Promise.all([taken(), taken()]);
    await new Promise((resolve) => first.server.close(resolve));

    await expect(
      start({ ignitionPort: first.port, plainPort: second.port }, new AbortController().signal),
    ).rejects.toThrow(
      `the server cannot listen on 127.0.0.1 port ${second.port} (plainPort, --plain-port): `,
    );

    await expect(connected(first.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await new Promise((resolve) => second.server.close(resolve));
  });

  // A handshake has its own thirty seconds.
  it('ends within its time whatever its clients do', async () => {
    const stopping = new AbortController();
    const server = await start({ ignitionPort: 0, plainPort: 0 }, stopping.signal);
    const port = Number(new URL(server.ignitionUrl).port);
    const [silent, half] = await Promise.all([connected(port), connected(port)]);
    const closed = [silent, half].map((socket) => once(socket, 'close'));
    await new Promise((resolve) => half.write(HALF_A_HELLO, resolve));
    // This answer shows that the server has received the first message.
    expect((await fetch(`${server.plainUrl}/healthz`)).status).toBe(200);

    stopping.abort();

    await server.stopped;
    await Promise.all(closed);
    await expect(connected(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  }, 25_000);
});
