import { randomBytes } from 'node:crypto';
import type { InjectOptions } from 'fastify';
import pino from 'pino';
import { payloadCodec } from '../../../../process/temporal/payload-codec';
import { PayloadKey } from '../../../../process/temporal/payload-keys';
import { createCodecApp } from '../../../../server/codec/app';
import type { Judge } from '../../../../server/codec/readers';
import { fail } from '../../../../core/errors';

const ORIGIN = 'https://temporal.example.com';
const KEY = new PayloadKey('20261001T000000Z', randomBytes(32));
const OTHER = new PayloadKey('20261002T000000Z', randomBytes(32));

const judge: Judge = async (token) => {
  if (token === 'away') throw fail('ApiUnavailable', 'no answer');
  if (token === 'operator') return { username: 'ada', mayRead: true };
  return token === 'viewer' ? { username: 'eve', mayRead: false } : undefined;
};

function codecOf(key: PayloadKey) {
  return payloadCodec({ current: () => key, all: () => [key] });
}

function app() {
  return createCodecApp({
    ...{ judge, origin: ORIGIN, codec: codecOf(KEY), logger: pino({ level: 'silent' }) },
  });
}

const PLAIN = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"a word"') };

async function body(key = KEY) {
  const payloads = await codecOf(key).encode([PLAIN]);
  return {
    payloads: payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [
          name,
          Buffer.from(value).toString('base64'),
        ]),
      ),
      data: Buffer.from(data ?? []).toString('base64'),
    })),
  };
}

const decode = async (token?: string, more: InjectOptions = {}) =>
  app().inject({
    ...{ method: 'POST', url: '/decode', payload: await body() },
    ...more,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...more.headers,
    },
  });

describe('the codec for the Temporal UI', () => {
  it('decodes for who may get payloads', async () => {
    const answer = await decode('operator', {
      headers: { origin: ORIGIN, 'x-namespace': 'slipway' },
    });

    expect(answer.statusCode).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
    expect(answer.json()).toEqual({
      payloads: [
        {
          metadata: { encoding: PLAIN.metadata.encoding.toString('base64') },
          data: PLAIN.data.toString('base64'),
        },
      ],
    });
  });

  it.each([
    ['without a token', undefined, 401],
    ['with a token of nobody', 'forged', 401],
    ['who may not get payloads', 'viewer', 403],
    ['while nobody can say who it is', 'away', 503],
  ])('refuses one %s', async (_who, token, status) => {
    const answer = await decode(token);

    expect(answer.statusCode).toBe(status);
    expect(answer.body).not.toContain('a word');
    expect(answer.json()).toMatchObject({ status });
  });

  it.each(['Basic operator', 'Bearer', 'operator', 'Bearer operator more'])(
    'takes no authorization like %p',
    async (authorization) => {
      expect((await decode(undefined, { headers: { authorization } })).statusCode).toBe(401);
    },
  );

  it('lets the browser of the UI ask, and no page of another origin, whatever its token', async () => {
    const asked = { method: 'OPTIONS', headers: { origin: ORIGIN } } as const;
    const preflight = await decode(undefined, asked);
    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-headers': 'authorization, content-type, x-namespace',
    });

    const headers = { origin: 'https://evil.example.com' };
    for (const method of ['OPTIONS', 'POST'] as const) {
      const foreign = await decode('operator', { method, headers });
      expect(foreign.statusCode).toBe(403);
      expect(foreign.headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('says which key is missing', async () => {
    const answer = await decode('operator', { payload: await body(OTHER) });

    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain(OTHER.id);
  });

  it.each([
    ['no payloads', {}, 400],
    ['bytes that are not base64', { payloads: [{ data: '%' }] }, 400],
    ['an empty list', { payloads: [] }, 200],
  ])('answers %s', async (_what, payload, status) => {
    expect((await decode('operator', { payload })).statusCode).toBe(status);
  });

  it.each(['/encode', '/', '/decode/x'])('has no %s', async (url) => {
    expect((await decode('operator', { url })).statusCode).toBe(404);
    expect((await decode(undefined, { url })).statusCode).toBe(401);
  });
});
