import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { newJoinToken, type JoinTokenRecord } from '../../../core/join';
import { rfc3339 } from '../../../core/rfc3339';
import { createJoinGate, type JoinGateOptions, type JoinVerdict } from '../../../server/join-gate';
import { FAILED_LIMIT, GOOD_LIMIT } from '../../../server/join-limit';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const ADDRESS = '192.0.2.7';

/** A token for a pool, with its header. */
function aToken(pool = 'worker', seconds = 3600) {
  const { id, text, hash } = newJoinToken(randomBytes);
  const expiresAt = rfc3339(NOW + seconds * 1000);
  const record: JoinTokenRecord = { id, pool, hash, createdAt: rfc3339(NOW), expiresAt };
  return { id, record, authorization: `Bearer ${text}` };
}

/** A gate with these tokens; its clocks stop until `pass`. */
function aGate(
  records: readonly JoinTokenRecord[],
  options: Partial<JoinGateOptions> & { readonly isSynced?: boolean } = {},
) {
  const tokens = new Map(records.map((record) => [record.id, record]));
  const used: string[] = [];
  let passed = 0;
  const gate = createJoinGate({
    mode: 'tokens',
    allowedNetworks: [],
    tokens: { isSynced: options.isSynced ?? true, find: (id) => tokens.get(id) },
    now: () => NOW + passed,
    clock: () => passed,
    used: (id) => used.push(id),
    ...options,
  });
  return {
    gate,
    used,
    tokens,
    pass: (seconds: number) => {
      passed += seconds * 1000;
    },
    ask: (
      authorization: string | undefined,
      pool = 'worker',
      address = ADDRESS,
    ): Promise<JoinVerdict> => gate.ask({ pool, authorization, address }),
  };
}

async function statusOf(answer: Promise<JoinVerdict>): Promise<number> {
  const verdict = await answer;
  return verdict.admitted ? 200 : verdict.status;
}

describe('in mode tokens, the gate', () => {
  it('admits a machine with a token of the pool, and notes the use', async () => {
    const { id, record, authorization } = aToken();
    const { ask, used, gate } = aGate([record]);

    expect(await ask(authorization)).toEqual({ admitted: true, tokenId: id });
    expect(used).toEqual([id]);
    expect(gate.counts).toMatchObject({ admitted: 1, no_token: 0 });
  });

  it('answers every wrong token as it answers none', async () => {
    const right = aToken();
    const other = aToken('infra');
    const expired = aToken('worker', -1);
    const unknown = aToken();
    const wrong =
      right.authorization.slice(0, -1) + (right.authorization.endsWith('A') ? 'B' : 'A');
    const swapped = right.authorization.replace(right.id, other.id);
    const { ask, used, gate } = aGate([right.record, other.record, expired.record]);

    const headers = [
      undefined,
      'Bearer x',
      other.authorization,
      expired.authorization,
      unknown.authorization,
      wrong,
      swapped,
    ];
    const verdicts = await Promise.all(headers.map((header) => ask(header)));
    const visible = verdicts.map((verdict) => ({ ...verdict, reason: undefined }));

    expect(visible).toEqual(headers.map(() => ({ admitted: false, status: 401 })));
    expect(used).toEqual([]);
    expect(gate.counts).toMatchObject({
      admitted: 0,
      no_token: 2,
      other_pool: 1,
      expired: 1,
      unknown_token: 1,
      wrong_secret: 2,
    });
  });

  it('never admits what is not the very token, whatever is shown', async () => {
    const { record, authorization } = aToken();
    const header = fc.oneof(
      fc.string(),
      fc.string().map((text) => `Bearer ${text}`),
      fc
        .string({ minLength: 43, maxLength: 43 })
        .map((s) => `Bearer slipway-join.${record.id}.${s}`),
      fc.tuple(fc.nat(authorization.length), fc.string()).map(([at, text]) => {
        return authorization.slice(0, at) + text + authorization.slice(at + text.length);
      }),
    );
    await fc.assert(
      fc.asyncProperty(header, fc.string(), async (shown, pool) => {
        const isRight =
          shown.toLowerCase().startsWith('bearer ') && shown.slice(7) === authorization.slice(7);
        fc.pre(!isRight);
        expect(await statusOf(aGate([record]).ask(shown, pool))).toBe(401);
      }),
    );
  });

  it('says in the log why, and never the secret', async () => {
    const right = aToken();
    const expired = aToken('worker', -1);
    const wrong = right.authorization.slice(0, -4) + 'AAAA';
    const { ask } = aGate([right.record, expired.record]);

    const verdicts = await Promise.all(
      [undefined, 'Basic eDp5', wrong, expired.authorization].map((header) => ask(header)),
    );
    const reasons = verdicts.map((verdict) => (verdict.admitted ? '' : verdict.reason));

    expect(reasons).toEqual([
      'no join token',
      'this is no join token',
      `the secret of join token ${right.id} is wrong`,
      `join token ${expired.id} expired at 2029-12-31T23:59:59Z`,
    ]);
    for (const { authorization } of [right, expired]) {
      expect(reasons.join()).not.toContain(authorization.slice(-43));
    }
  });

  it('stops to admit at the instant of expiry, and as soon as a token is revoked', async () => {
    const first = aToken('worker', 10);
    const second = aToken();
    const { ask, pass, tokens } = aGate([first.record, second.record]);

    expect(await statusOf(ask(first.authorization))).toBe(200);
    pass(10);
    expect(await statusOf(ask(first.authorization))).toBe(401);
    expect(await statusOf(ask(second.authorization))).toBe(200);
    tokens.delete(second.id);
    expect(await statusOf(ask(second.authorization))).toBe(401);
  });

  it('asks for patience until it has seen the tokens: Ignition gives up at a 401', async () => {
    const { record, authorization } = aToken();
    const { ask, gate } = aGate([record], { isSynced: false });

    expect(await ask(authorization)).toMatchObject({ status: 503, retryAfterSeconds: 5 });
    expect(gate.counts.not_ready).toBe(1);
  });
});

describe('before it refuses a machine for good, the gate', () => {
  const stored = (...records: readonly JoinTokenRecord[]) =>
    new Map(records.map((record) => [record.id, record]));

  it('reads the tokens once more, and admits a machine with a new token', async () => {
    const { id, record, authorization } = aToken();
    const { ask, used, gate } = aGate([], { tokensNow: async () => stored(record) });

    expect(await ask(authorization)).toEqual({ admitted: true, tokenId: id });
    expect(await ask(authorization, 'infra')).toMatchObject({
      status: 401,
      reason: `join token ${id} is for pool worker`,
    });
    expect(used).toEqual([id]);
    expect(gate.counts).toMatchObject({ admitted: 1, other_pool: 1, unknown_token: 0 });
  });

  it('reads them whatever was shown, so that every wrong token takes as long as none', async () => {
    const right = aToken();
    const expired = aToken('worker', -1);
    const wrong = right.authorization.slice(0, -4) + 'AAAA';
    let reads = 0;
    const tokensNow = async () => {
      reads += 1;
      return stored(right.record, expired.record);
    };
    const { ask } = aGate([right.record, expired.record], { tokensNow });
    expect(await statusOf(ask(right.authorization))).toBe(200);
    expect(reads).toBe(0);

    const shown = [undefined, 'Bearer x', aToken().authorization, expired.authorization, wrong];
    for (const header of shown) expect(await statusOf(ask(header))).toBe(401);

    expect(reads).toBe(shown.length);
  });

  it('asks every machine to retry when they cannot be read', async () => {
    const right = aToken();
    const other = aToken('infra');
    const expired = aToken('worker', -1);
    const wrong = right.authorization.slice(0, -4) + 'AAAA';
    const records = [right.record, other.record, expired.record];
    const tokensNow = () => Promise.reject(new Error('connection refused'));
    const { ask, used, gate } = aGate(records, { tokensNow });
    const shown = [undefined, 'Bearer x', aToken(), other, expired, wrong].map((one) =>
      typeof one === 'object' ? one.authorization : one,
    );

    const verdicts = await Promise.all(shown.map((header) => ask(header)));
    const answers = verdicts.map((verdict) => ({ ...verdict, reason: undefined }));

    expect(answers).toEqual(
      shown.map(() => ({ admitted: false, status: 503, retryAfterSeconds: 5 })),
    );
    expect(used).toEqual([]);
    expect(gate.counts).toMatchObject({ not_ready: shown.length, unknown_token: 0 });
    expect(await ask(undefined)).toMatchObject({
      reason: 'no join token, or not seen yet: connection refused',
    });
    expect(await statusOf(ask(right.authorization))).toBe(200);
  });

  it('shuts no machine out for good that asks too often while they cannot be read', async () => {
    const tokensNow = () => Promise.reject(new Error('connection refused'));
    const { ask, gate } = aGate([], { tokensNow });

    for (let i = 0; i < FAILED_LIMIT.burst; i += 1) await ask(aToken().authorization);

    expect(await ask(undefined)).toMatchObject({
      status: 503,
      retryAfterSeconds: 1,
      isRepeated: true,
    });
    expect(gate.counts).toMatchObject({ not_ready: FAILED_LIMIT.burst, rate_limited: 1 });
  });

  it('lets in a machine with a new token, also behind an address that guesses too often', async () => {
    const { record, authorization } = aToken();
    const { ask } = aGate([], { tokensNow: async () => stored(record) });

    for (let i = 0; i < 2 * FAILED_LIMIT.burst; i += 1) await ask('Bearer x');

    expect(await statusOf(ask('Bearer x'))).toBe(429);
    expect(await statusOf(ask(authorization))).toBe(200);
  });

  it('reads nothing in mode open', async () => {
    const tokensNow = () => Promise.reject(new Error('connection refused'));

    expect(await aGate([], { mode: 'open', tokensNow }).ask(undefined)).toEqual({
      admitted: true,
    });
  });
});

describe('in mode open, the gate', () => {
  it('admits without a token, and checks none', async () => {
    const { ask, used } = aGate([], { mode: 'open', isSynced: false });

    expect(await ask(undefined)).toEqual({ admitted: true });
    expect(await ask('Bearer x')).toEqual({ admitted: true });
    expect(used).toEqual([]);
  });

  it('still asks from which network, and how often', async () => {
    const { ask } = aGate([], { mode: 'open', allowedNetworks: ['192.0.2.0/24'] });

    expect(await statusOf(ask(undefined, 'worker', '198.51.100.1'))).toBe(403);
    for (let i = 0; i < GOOD_LIMIT.burst; i += 1) await ask(undefined);
    expect(await ask(undefined)).toMatchObject({ status: 503, retryAfterSeconds: 1 });
  });
});

describe('the allow-list', () => {
  it('comes before the token', async () => {
    const { record, authorization } = aToken();
    const { ask, gate } = aGate([record], { allowedNetworks: ['10.0.0.0/8', '2001:db8::/32'] });

    expect(await statusOf(ask(authorization, 'worker', '10.1.2.3'))).toBe(200);
    expect(await statusOf(ask(authorization, 'worker', '::ffff:10.1.2.3'))).toBe(200);
    expect(await statusOf(ask(authorization, 'worker', '2001:db8::1'))).toBe(200);
    expect(await statusOf(ask(authorization, 'worker', '11.1.2.3'))).toBe(403);
    expect(await statusOf(ask(undefined, 'worker', '::ffff:11.1.2.3'))).toBe(403);
    expect(await statusOf(ask(authorization, 'worker', 'nonsense'))).toBe(403);
    expect(gate.counts).toMatchObject({ admitted: 3, network: 3 });
  });

  it('is refused with a network that is none', async () => {
    expect(() => aGate([], { allowedNetworks: ['10.0.0.0/33'] })).toThrow(
      '"10.0.0.0/33" is no network: expected 192.0.2.0/24, 2001:db8::/32 or an address',
    );
  });
});

describe('the rate limit', () => {
  it('lets 2,000 machines behind one address boot at once, each asking three times', async () => {
    const { record, authorization } = aToken();
    const { ask } = aGate([record]);

    const answers = await Promise.all(
      Array.from({ length: 6_000 }, () => statusOf(ask(authorization))),
    );

    expect(answers.every((status) => status === 200)).toBe(true);
  });

  it('answers failures with 429 after some, and says when it makes sense again', async () => {
    const { ask, pass, gate } = aGate([]);

    for (let i = 0; i < FAILED_LIMIT.burst; i += 1)
      expect(await statusOf(ask('Bearer x'))).toBe(401);
    expect(await ask('Bearer x')).toMatchObject({ status: 429, retryAfterSeconds: 1 });
    expect(await statusOf(ask(undefined))).toBe(429);
    expect(gate.counts).toMatchObject({ no_token: FAILED_LIMIT.burst, rate_limited: 2 });
    pass(1);
    const second = await Promise.all(Array.from({ length: 10 }, () => statusOf(ask('Bearer x'))));
    expect(second.filter((status) => status === 401)).toHaveLength(FAILED_LIMIT.perSecond);
  });

  it('shuts out no machine with a token because of a neighbour without one', async () => {
    const { record, authorization } = aToken();
    const { ask } = aGate([record]);

    for (let i = 0; i < 2 * FAILED_LIMIT.burst; i += 1) await ask('Bearer x');

    expect(await statusOf(ask('Bearer x'))).toBe(429);
    expect(await statusOf(ask(authorization))).toBe(200);
    expect(await statusOf(ask('Bearer x', 'worker', '192.0.2.8'))).toBe(401);
  });

  it('counts each IPv4 machine by itself, also where its address comes in the form of IPv6', async () => {
    const { ask } = aGate([]);

    for (let i = 0; i < 2 * FAILED_LIMIT.burst; i += 1)
      await ask('Bearer x', 'worker', '::ffff:192.0.2.7');

    expect(await statusOf(ask('Bearer x', 'worker', '192.0.2.7'))).toBe(429);
    expect(await statusOf(ask('Bearer x', 'worker', '::ffff:192.0.2.8'))).toBe(401);
  });

  it('notes no use of a request that it refuses', async () => {
    const { record, authorization } = aToken();
    const { ask, used } = aGate([record]);

    for (let i = 0; i < GOOD_LIMIT.burst; i += 1) await ask(authorization);
    const before = used.length;

    expect(await statusOf(ask(authorization))).toBe(503);
    expect(used).toHaveLength(before);
  });
});
