import { createHash } from 'node:crypto';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { IgnitionConfig } from '../../../../core/machine-config/types';
import { createShelf } from '../../../../server/ignition/shelf';
import { missing } from '../../../../server/ignition/source';
import {
  aRendered,
  aServer,
  countingPreparer,
  IGNITION,
  SECRET,
  type ServerOptions,
} from './builders';

const V34 = { accept: `${IGNITION}3.4.0` };

async function ask(
  url: string,
  headers: Record<string, string> = {},
  options: ServerOptions & { method?: 'GET' | 'HEAD' | 'POST' | 'OPTIONS' | 'QUERY' } = {},
) {
  const server = aServer(options);
  const reply = await server.app.inject({ url, headers, method: options.method ?? 'GET' });
  return { ...server, reply };
}

describe('a first config', () => {
  it('is JSON of the version that is asked for, with its length and a tag of its bytes', async () => {
    const { reply } = await ask('/config/worker', V34);

    expect(reply.statusCode).toBe(200);
    expect(reply.json<IgnitionConfig>().ignition.version).toBe('3.4.0');
    const digest = createHash('sha256').update(reply.rawPayload).digest('hex');
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(reply.rawPayload.length),
      'cache-control': 'private, no-store',
      etag: `"${digest}"`,
      'slipway-config-age': '0',
    });
  });

  it('has the same headers without its body', async () => {
    const { app } = aServer();
    const full = await app.inject({ url: '/config/worker', headers: V34 });
    const head = await app.inject({ url: '/config/worker', headers: V34, method: 'HEAD' });

    expect(head.body).toBe('');
    expect({ ...head.headers, date: '' }).toEqual({ ...full.headers, date: '' });
  });

  it('is prepared once, however many ask', async () => {
    const { app, jobs } = aServer();

    await Promise.all(
      Array.from({ length: 20 }, () => app.inject({ url: '/config/worker', headers: V34 })),
    );
    expect(jobs).toHaveLength(1);
    await app.inject({ url: '/config/worker' });
    expect(jobs.map(({ version }) => version)).toEqual(['3.4', '2.2']);
  });

  it('is not sent again to a client that has it', async () => {
    const { app } = aServer();
    const { headers } = await app.inject({ url: '/config/worker', headers: V34 });
    const again = (tag: string) =>
      app.inject({ url: '/config/worker', headers: { ...V34, 'if-none-match': tag } });

    const known = await again(`"other", W/${String(headers.etag)}`);
    expect(known.statusCode).toBe(304);
    expect(known.body).toBe('');
    expect(known.headers.etag).toBe(headers.etag);
    expect((await again('"other"')).statusCode).toBe(200);
  });

  it('travels compressed where that is taken, under a tag of its own', async () => {
    const { app, counted } = aServer();
    const plain = await app.inject({ url: '/config/worker', headers: V34 });
    const packed = (encoding: string) =>
      app.inject({ url: '/config/worker', headers: { ...V34, 'accept-encoding': encoding } });

    const gzip = await packed('gzip, deflate');
    const zstd = await packed('gzip, zstd');

    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.rawPayload)).toEqual(plain.rawPayload);
    expect(zstd.headers['content-encoding']).toBe('zstd');
    expect(zstdDecompressSync(zstd.rawPayload)).toEqual(plain.rawPayload);
    expect(new Set([plain, gzip, zstd].map(({ headers }) => headers.etag)).size).toBe(3);
    expect((await packed('identity')).headers['content-encoding']).toBeUndefined();
    expect(counted).toContain('sent 3.4 zstd');
  });

  it('does not depend on a query', async () => {
    const { reply } = await ask('/config/worker?role=master&x=1', V34);

    expect(reply.statusCode).toBe(200);
  });

  it('is logged with client and name, and without its contents', async () => {
    const { logged, reply } = await ask('/config/worker', {
      ...V34,
      authorization: `Bearer ${SECRET}`,
    });

    const line = JSON.parse(logged.at(-1) ?? '{}') as Record<string, unknown>;
    expect(line).toMatchObject({
      method: 'GET',
      pool: 'worker',
      config: 'rendered-worker-1',
      version: '3.4',
      address: '127.0.0.1',
      status: 200,
      tokenId: 'token-1',
      bytes: reply.rawPayload.length,
    });
    expect(logged.join('')).not.toContain(SECRET);
  });

  it('is not logged as sent to a client that got none of it', async () => {
    const { app, logged, counted } = aServer();
    const full = await app.inject({ url: '/config/worker', headers: V34 });
    const sent = counted.filter((line) => line.startsWith('sent'));
    const last = () => JSON.parse(logged.at(-1) ?? '{}') as Record<string, unknown>;
    expect(last()).toMatchObject({ msg: 'first config sent' });
    const unsent = { msg: 'first config asked about, not sent', bytes: 0, tokenId: 'token-1' };

    await app.inject({ url: '/config/worker', headers: V34, method: 'HEAD' });
    expect(last()).toMatchObject({ ...unsent, method: 'HEAD', status: 200 });

    const tag = String(full.headers.etag);
    await app.inject({ url: '/config/worker', headers: { ...V34, 'if-none-match': tag } });
    expect(last()).toMatchObject({ ...unsent, method: 'GET', status: 304 });
    expect(counted.filter((line) => line.startsWith('sent'))).toEqual(sent);
  });
});

describe('the gate', () => {
  it('is asked with the pool, the token and the address, before anything is looked up', async () => {
    const looked: string[] = [];
    const { asked, reply } = await ask(
      '/config/worker',
      { authorization: 'Bearer x' },
      {
        verdict: { admitted: false, status: 401, reason: 'unknown token' },
        source: {
          look: (pool) => {
            looked.push(pool);
            return missing(500, 'unknown-pool', '');
          },
          ageSeconds: () => 0,
        },
      },
    );

    expect(asked).toEqual([{ pool: 'worker', authorization: 'Bearer x', address: '127.0.0.1' }]);
    expect(looked).toEqual([]);
    expect(reply.statusCode).toBe(401);
  });

  it('answers alike for existing pools, for missing pools and for unknown versions', async () => {
    const verdict = { admitted: false, status: 401, reason: 'no token' } as const;
    const replies = await Promise.all(
      [
        ['/config/worker', `${IGNITION}3.4.0`],
        ['/config/nope', `${IGNITION}3.4.0`],
        ['/config/worker', `${IGNITION}9.0.0`],
        ['/config/%00', `${IGNITION}3.0.0`],
      ].map(async ([url = '', accept = '']) => (await ask(url, { accept }, { verdict })).reply),
    );

    const seen = replies.map(({ statusCode, body, headers }) =>
      JSON.stringify({ statusCode, body, headers: { ...headers, date: '' } }),
    );
    expect(new Set(seen).size).toBe(1);
    expect(replies[0]?.body).toBe('');
    expect(replies[0]?.headers['www-authenticate']).toBe('Bearer');
  });

  it('says when to ask again, and keeps its reason to the log', async () => {
    const { logged, reply } = await ask(
      '/config/worker',
      {},
      {
        verdict: { admitted: false, status: 429, retryAfterSeconds: 7, reason: 'too many' },
      },
    );

    expect(reply.statusCode).toBe(429);
    expect(reply.headers['retry-after']).toBe('7');
    expect(JSON.stringify(reply.headers)).not.toContain('too many');
    expect(logged.at(-1)).toContain('"reason":"too many"');
  });

  it('is logged once a minute of an address that asks too often, and each time otherwise', async () => {
    const refusing = (status: 401 | 429 | 503, repeated: { readonly isRepeated?: true } = {}) =>
      aServer({ verdict: { admitted: false, status, reason: 'too many', ...repeated } });
    const [often, wrong] = [refusing(429), refusing(401)];
    const [away, unknown] = [refusing(503, { isRepeated: true }), refusing(503)];
    const ask = (app: typeof often.app, remoteAddress: string) =>
      app.inject({ url: '/config/worker', remoteAddress });

    const all = [often, often, often, wrong, wrong, away, away, unknown, unknown];
    for (const { app } of all) await ask(app, '192.0.2.1');
    await ask(often.app, '192.0.2.2');

    const of = (lines: readonly string[]) =>
      lines.map((line) => (JSON.parse(line) as { address: string }).address);
    expect(of(often.logged)).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(often.counted.filter((line) => line.endsWith(' 429'))).toHaveLength(4);
    expect(of(wrong.logged)).toHaveLength(2);
    expect([away, unknown].map(({ logged }) => logged.length)).toEqual([1, 2]);
  });
});

describe('what there is no first config for', () => {
  it.each([
    ['unknown-pool', 500, '/config/nope'],
    ['unknown-pool', 500, '/config/NOPE'],
    ['unknown-pool', 500, '/config/a%20b'],
    ['unknown-pool', 500, '/config/%00'],
    ['unknown-pool', 500, `/config/${'w'.repeat(8_000)}`],
    ['unknown-pool', 500, '/config/..%2f..%2fetc%2fshadow'],
    ['unknown-pool', 500, '/config/'],
  ])('is told as %s with %d: %.60s', async (reason, status, url) => {
    const { counted, reply } = await ask(url, V34);

    expect(reply.statusCode).toBe(status);
    expect(reply.body).toBe('');
    expect(reply.headers['slipway-reason']).toBe(reason);
    expect(counted).toContain(`missed ${reason}`);
  });

  it('is a config over the limit, which the log measures', async () => {
    const { logged, reply, counted } = await ask('/config/worker', V34, { maxBytes: 100 });

    expect(reply.statusCode).toBe(500);
    expect(reply.headers['slipway-reason']).toBe('too-large');
    expect(logged.at(-1)).toMatch(
      /config rendered-worker-1 has \d+ bytes as Ignition 3.4, and 100 is the limit/,
    );
    expect(counted).toContain('missed too-large');
  });

  it('is a version that cannot say what is in the config', async () => {
    const luks = [{ name: 'data', device: '/dev/sdb', clevis: { tpm2: true } }];
    const machineConfig = aRendered('rendered-worker-1', { storage: { luks } });
    const { app, logged } = aServer({ machineConfig });
    const status = async (version: string) =>
      (await app.inject({ url: '/config/worker', headers: { accept: IGNITION + version } }))
        .statusCode;

    expect(await status('3.1.0')).toBe(500);
    expect(logged.at(-1)).toContain('storage.luks needs 3.2');
    expect(await status('3.2.0')).toBe(200);
    expect(await status('3.0.0')).toBe(500);
    expect(await status('4.0.0')).toBe(400);
  });

  it('is a config that is in the way of what is added, which the log names', async () => {
    const links = [{ path: '/etc/machine-config-daemon', target: '/usr/a' }];
    const machineConfig = aRendered('rendered-worker-1', { storage: { links } });

    const { logged, reply, counted } = await ask('/config/worker', V34, { machineConfig });

    expect(reply.statusCode).toBe(500);
    expect(reply.headers['slipway-reason']).toBe('unusable-config');
    expect(logged.at(-1)).toMatch(/rendered-worker-1: its link \/etc\/machine-config-daemon is in/);
    expect(counted).toContain('missed unusable-config');
  });

  it('may be there at the next request, when preparing has failed for no reason of the config', async () => {
    let failures = 1;
    const { prepare } = countingPreparer().preparer;
    const shelf = createShelf({
      preparer: {
        prepare: (job) => {
          failures -= 1;
          return failures >= 0 ? Promise.reject(new Error('thread gone')) : prepare(job);
        },
        close: () => Promise.resolve(),
      },
      maxBytes: 1024 * 1024,
    });
    const { app } = aServer({ shelf });

    const first = await app.inject({ url: '/config/worker', headers: V34 });
    expect(first.statusCode).toBe(503);
    expect(first.headers).toMatchObject({ 'slipway-reason': 'not-prepared', 'retry-after': '5' });
    expect((await app.inject({ url: '/config/worker', headers: V34 })).statusCode).toBe(200);
  });

  it('is sent with its age when the API server is away', async () => {
    const { reply } = await ask('/config/worker', V34, {
      source: {
        look: () => missing(503, 'not-ready', 'connection refused'),
        ageSeconds: () => 61.9,
      },
    });

    expect(reply.statusCode).toBe(503);
    expect(reply.headers).toMatchObject({ 'retry-after': '5', 'slipway-config-age': '61' });
  });

  it('is an error of the server itself, whose inside stays in the log', async () => {
    const { logged, reply } = await ask('/config/worker', V34, {
      source: {
        look: () => Promise.reject(new Error('a bug')),
        ageSeconds: () => 0,
      },
    });

    expect(reply.statusCode).toBe(500);
    expect(reply.body).toBe('');
    expect(logged.join('')).toContain('a bug');
  });
});

describe('other requests', () => {
  it('have a limit for each address, in whichever spelling, that is not the one of configs', async () => {
    const { app, logged } = aServer({ clock: () => 0 });
    const ask = async (remoteAddress: string, url: string, method: 'GET' | 'POST' = 'GET') =>
      app.inject({ url, method, remoteAddress, headers: V34 });

    for (let i = 0; i < 600; i += 1) {
      await ask('192.0.2.1', '/healthz');
      await ask('::ffff:192.0.2.1', '/nothing');
      await ask('192.0.2.1', '/config/worker', 'POST');
    }

    const [health, nothing] = [await ask('192.0.2.1', '/healthz'), await ask('192.0.2.1', '/x')];
    expect([health.statusCode, nothing.statusCode]).toEqual([429, 429]);
    expect(Number(health.headers['retry-after'])).toBeGreaterThan(0);
    expect(health.body).toBe('');
    expect((await ask('192.0.2.1', '/config/worker')).statusCode).toBe(200);
    expect((await ask('::ffff:192.0.2.2', '/healthz')).statusCode).toBe(200);
    const named = logged.filter((line) => line.includes('"status":429'));
    expect(named).toHaveLength(1);
  });

  it.each([
    ['GET', '/healthz', 200],
    ['HEAD', '/healthz', 200],
    ['POST', '/healthz', 405],
    ['GET', '/', 404],
    ['GET', '/healthz/', 404],
    ['GET', '/metrics', 404],
    ['GET', '/host/configs/rendered-worker-1', 404],
    ['OPTIONS', '/config/worker', 405],
    ['POST', '/config/worker', 405],
    ['QUERY', '/config/worker', 405],
    ['QUERY', '/healthz', 405],
    ['GET', '/config/%zz', 400],
    ['GET', '/config/wor%C0ker', 400],
  ] as const)('%s %s gets an empty %d', async (method, url, status) => {
    const { asked, reply } = await ask(url, {}, { method });

    expect(reply.statusCode).toBe(status);
    expect(reply.body).toBe('');
    expect(reply.headers['content-type']).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('need no body that can be read', async () => {
    const { app } = aServer();

    const reply = await app.inject({
      method: 'POST',
      url: '/config/worker',
      headers: { 'content-type': 'application/json' },
      payload: '{"broken":',
    });

    expect(reply.statusCode).toBe(405);
  });

  it('are sent where MCO sends them', async () => {
    const { reply } = await ask('/config?role=x');

    expect(reply.statusCode).toBe(307);
    expect(reply.headers.location).toBe('/config/?role=x');
    expect(reply.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(reply.body).toBe('<a href="/config/?role=x">Temporary Redirect</a>.\n\n');
  });
});
