import { connect } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostWorkerFiles } from '../../../../server/ignition/host-worker';
import { until } from '../../../integration/tools/until';
import { aServer } from './builders';

const ARCHIVE = '/host-worker/x86_64.tar.gz';
const BYTES = 'not really an archive';
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-host-worker-'));
  writeFileSync(join(directory, 'x86_64.tar.gz'), BYTES);
  writeFileSync(join(directory, 'x86_64.sha256'), 'digest\n');
  writeFileSync(join(directory, 'secret'), 'secret');
});
afterAll(() => rmSync(directory, { recursive: true }));

const serving = () => aServer({ hostWorker: hostWorkerFiles(directory) });

describe('the host worker for machines with a stock image', () => {
  it('is given with its digest to whoever asks, and logged', async () => {
    const { app, logged, asked } = serving();

    const archive = await app.inject(ARCHIVE);
    const digest = await app.inject('/host-worker/x86_64.sha256');

    expect([archive.statusCode, archive.body]).toEqual([200, BYTES]);
    expect(archive.headers['content-length']).toBe(String(BYTES.length));
    expect(digest.body).toBe('digest\n');
    expect(asked).toEqual([]);
    expect(logged.join('')).toContain('"file":"x86_64.tar.gz","msg":"host worker given"');
  });

  it('has a size for those who do not want it', async () => {
    const { app } = serving();

    const head = await app.inject({ url: ARCHIVE, method: 'HEAD' });

    expect([head.statusCode, head.body]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(String(BYTES.length));
    expect((await app.inject({ url: ARCHIVE, method: 'POST' })).statusCode).toBe(405);
  });

  it.each(['aarch64.tar.gz', 'secret', '..%2fsecret.sha256', 'x86_64.tar', ''])(
    'is nothing else: %s',
    async (name) => {
      const { app } = serving();

      expect((await app.inject(`/host-worker/${name}`)).statusCode).toBe(404);
    },
  );

  it('is in no server that was built without it', async () => {
    const reply = await aServer().app.inject(ARCHIVE);

    expect(reply.statusCode).toBe(404);
    expect(reply.headers['slipway-reason']).toBe('no-host-worker');
  });

  it.each([
    ['in all', { atOnce: 1, perAddress: 2 }, 'elsewhere'],
    ['to one address', { atOnce: 9, perAddress: 1 }, '127.0.0.1'],
  ])('is given to so many at once %s, then to the next', async (_what, limits, address) => {
    const files = hostWorkerFiles(directory, limits);
    const { app } = aServer({ hostWorker: files });
    const first = await files.open('x86_64.tar.gz', address);

    const busy = await app.inject(ARCHIVE);
    expect((await app.inject('/host-worker/x86_64.sha256')).statusCode).toBe(200);
    if (first.state === 'open') first.close();
    if (first.state === 'open') first.close();
    const next = [await app.inject(ARCHIVE), await app.inject(ARCHIVE)];

    expect([busy.statusCode, busy.headers['retry-after']]).toEqual([503, '5']);
    expect(next.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
  });

  it('gives the place back that a client has left before its answer', async () => {
    const files = hostWorkerFiles(directory, { atOnce: 2, perAddress: 2 });
    const { app } = aServer({ hostWorker: files });
    const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);

    for (let i = 0; i < 20; i += 1) await leaveEarly(port);
    await app.close();

    // Files may still be opened for those that have left.
    const isFree = async () => (await files.open('x86_64.tar.gz', 'elsewhere')).state === 'open';
    await expect(until(isFree, 'there is a place', 5_000)).resolves.toBeUndefined();
  });
});

/** Asks several times at once, and is gone. */
function leaveEarly(port: number): Promise<void> {
  const request = `GET ${ARCHIVE} HTTP/1.1\r\nHost: slipway\r\n\r\n`;
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(request.repeat(4), () => setImmediate(() => socket.resetAndDestroy()));
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve();
    });
  });
}
