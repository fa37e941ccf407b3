import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { instantOf, newJoinToken, type JoinTokenRecord } from '../../../core/join';
import { createJoinGate, type JoinGateOptions, type JoinVerdict } from '../../../server/join-gate';
import { FAILED_LIMIT, GOOD_LIMIT } from '../../../server/join-limit';

const ports = {
  randomBytes,
  sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex'),
};
const NOW = Date.parse('2030-01-01T00:00:00Z');
const ADDRESS = '192.0.2.7';

/** A token for a pool, with the header that shows it. */
function aToken(pool = 'worker', seconds = 3600) {
  const { id, text, hash } = newJoinToken(ports);
  const expiresAt = instantOf(NOW + seconds * 1000);
  const record: JoinTokenRecord = { id, pool, hash, createdAt: instantOf(NOW), expiresAt };
  return { id, record, authorization: `Bearer ${text}` };
}

/** A gate with these tokens; its clocks stand still until `pass`. */
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
    ask: (authorization: string | undefined, pool = 'worker', address = ADDRESS): JoinVerdict =>
      gate.ask({ pool, authorization, address }),
  };
}

const statusOf = (verdict: JoinVerdict) => (verdict.admitted ? 200 : verdict.status);

describe('in mode tokens, the gate', () => {
  it('admits a machine with a token of the pool, and notes the use', () => {
    const { id, record, authorization } = aToken();
    const { ask, used, gate } = aGate([record]);

    expect(ask(authorization)).toEqual({ admitted: true, tokenId: id });
    expect(used).toEqual([id]);
    expect(gate.counts).toMatchObject({ admitted: 1, no_token: 0 });
  });

  it('answers every wrong token as it answers none', () => {
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
    const visible = headers
      .map((header) => ask(header))
      .map((verdict) => ({ ...verdict, reason: undefined }));

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

  it('never admits what is not the very token, whatever is shown', () => {
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
    fc.assert(
      fc.property(header, fc.string(), (shown, pool) => {
        const isRight =
          shown.toLowerCase().startsWith('bearer ') && shown.slice(7) === authorization.slice(7);
        fc.pre(!isRight);
        expect(statusOf(aGate([record]).ask(shown, pool))).toBe(401);
      }),
    );
  });

  it('says in the log why, and never the secret', () => {
    const right = aToken();
    const expired = aToken('worker', -1);
    const wrong = right.authorization.slice(0, -4) + 'AAAA';
    const { ask } = aGate([right.record, expired.record]);

    const reasons = [undefined, 'Basic eDp5', wrong, expired.authorization]
      .map((header) => ask(header))
      .map((verdict) => (verdict.admitted ? '' : verdict.reason));

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

  it('stops to admit at the instant of expiry, and as soon as a token is revoked', () => {
    const first = aToken('worker', 10);
    const second = aToken();
    const { ask, pass, tokens } = aGate([first.record, second.record]);

    expect(statusOf(ask(first.authorization))).toBe(200);
    pass(10);
    expect(statusOf(ask(first.authorization))).toBe(401);
    expect(statusOf(ask(second.authorization))).toBe(200);
    tokens.delete(second.id);
    expect(statusOf(ask(second.authorization))).toBe(401);
  });

  it('asks for patience until it has seen the tokens: Ignition gives up at a 401', () => {
    const { record, authorization } = aToken();
    const { ask, gate } = aGate([record], { isSynced: false });

    expect(ask(authorization)).toMatchObject({ status: 503, retryAfterSeconds: 5 });
    expect(gate.counts.not_ready).toBe(1);
  });
});

describe('while tokens may have come that are not known here, the gate', () => {
  it('asks everybody for patience, alike, who shows none that it knows', () => {
    const right = aToken();
    const other = aToken('infra');
    const expired = aToken('worker', -1);
    const wrong = right.authorization.slice(0, -4) + 'AAAA';
    const records = [right.record, other.record, expired.record];
    const { ask, used, gate } = aGate(records, { isBehind: () => true });
    const shown = [undefined, 'Bearer x', aToken(), other, expired, wrong].map((one) =>
      typeof one === 'object' ? one.authorization : one,
    );

    const answers = shown.map((header) => ({ ...ask(header), reason: undefined }));

    expect(answers).toEqual(
      shown.map(() => ({ admitted: false, status: 503, retryAfterSeconds: 5 })),
    );
    expect(used).toEqual([]);
    expect(gate.counts).toMatchObject({ not_ready: shown.length, unknown_token: 0 });
    expect(ask(undefined)).toMatchObject({
      reason: 'no join token, or not seen yet: the API server is away',
    });
  });

  it('admits whoever shows one that it knows, and refuses for good when it is over', () => {
    const { record, authorization } = aToken();
    let behind = true;
    const { ask } = aGate([record], { isBehind: () => behind });
    expect(statusOf(ask(authorization))).toBe(200);

    behind = false;

    expect(statusOf(ask(aToken().authorization))).toBe(401);
  });

  it('shuts nobody out for good who asks too often', () => {
    const { ask, gate } = aGate([], { isBehind: () => true });

    for (let i = 0; i < FAILED_LIMIT.burst; i += 1) ask(aToken().authorization);

    expect(ask(undefined)).toMatchObject({ status: 503, retryAfterSeconds: 1, isRepeated: true });
    expect(gate.counts).toMatchObject({ not_ready: FAILED_LIMIT.burst, rate_limited: 1 });
  });

  it('admits everybody in mode open', () => {
    expect(aGate([], { mode: 'open', isBehind: () => true }).ask(undefined)).toEqual({
      admitted: true,
    });
  });
});

describe('in mode open, the gate', () => {
  it('admits without a token, and looks at none', () => {
    const { ask, used } = aGate([], { mode: 'open', isSynced: false });

    expect(ask(undefined)).toEqual({ admitted: true });
    expect(ask('Bearer x')).toEqual({ admitted: true });
    expect(used).toEqual([]);
  });

  it('still asks from which network, and how often', () => {
    const { ask } = aGate([], { mode: 'open', allowedNetworks: ['192.0.2.0/24'] });

    expect(statusOf(ask(undefined, 'worker', '198.51.100.1'))).toBe(403);
    for (let i = 0; i < GOOD_LIMIT.burst; i += 1) ask(undefined);
    expect(ask(undefined)).toMatchObject({ status: 503, retryAfterSeconds: 1 });
  });
});

describe('the allow-list', () => {
  it('comes before the token', () => {
    const { record, authorization } = aToken();
    const { ask, gate } = aGate([record], { allowedNetworks: ['10.0.0.0/8', '2001:db8::/32'] });

    expect(statusOf(ask(authorization, 'worker', '10.1.2.3'))).toBe(200);
    expect(statusOf(ask(authorization, 'worker', '::ffff:10.1.2.3'))).toBe(200);
    expect(statusOf(ask(authorization, 'worker', '2001:db8::1'))).toBe(200);
    expect(statusOf(ask(authorization, 'worker', '11.1.2.3'))).toBe(403);
    expect(statusOf(ask(undefined, 'worker', '::ffff:11.1.2.3'))).toBe(403);
    expect(statusOf(ask(authorization, 'worker', 'nonsense'))).toBe(403);
    expect(gate.counts).toMatchObject({ admitted: 3, network: 3 });
  });

  it('is refused with a network that is none', () => {
    expect(() => aGate([], { allowedNetworks: ['10.0.0.0/33'] })).toThrow(
      '"10.0.0.0/33" is no network: expected 192.0.2.0/24, 2001:db8::/32 or an address',
    );
  });
});

describe('the rate limit', () => {
  it('lets 2,000 machines behind one address boot at once, each asking three times', () => {
    const { record, authorization } = aToken();
    const { ask } = aGate([record]);

    const answers = Array.from({ length: 6_000 }, () => statusOf(ask(authorization)));

    expect(answers.every((status) => status === 200)).toBe(true);
  });

  it('answers failures with 429 after some, and says when it makes sense again', () => {
    const { ask, pass, gate } = aGate([]);

    for (let i = 0; i < FAILED_LIMIT.burst; i += 1) expect(statusOf(ask('Bearer x'))).toBe(401);
    expect(ask('Bearer x')).toMatchObject({ status: 429, retryAfterSeconds: 1 });
    expect(statusOf(ask(undefined))).toBe(429);
    expect(gate.counts).toMatchObject({ no_token: FAILED_LIMIT.burst, rate_limited: 2 });
    pass(1);
    const second = Array.from({ length: 10 }, () => statusOf(ask('Bearer x')));
    expect(second.filter((status) => status === 401)).toHaveLength(FAILED_LIMIT.perSecond);
  });

  it('shuts nobody out who has a token because of a neighbour who has none', () => {
    const { record, authorization } = aToken();
    const { ask } = aGate([record]);

    for (let i = 0; i < 2 * FAILED_LIMIT.burst; i += 1) ask('Bearer x');

    expect(statusOf(ask('Bearer x'))).toBe(429);
    expect(statusOf(ask(authorization))).toBe(200);
    expect(statusOf(ask('Bearer x', 'worker', '192.0.2.8'))).toBe(401);
  });

  it('counts each IPv4 machine by itself, also where its address comes in the form of IPv6', () => {
    const { ask } = aGate([]);

    for (let i = 0; i < 2 * FAILED_LIMIT.burst; i += 1)
      ask('Bearer x', 'worker', '::ffff:192.0.2.7');

    expect(statusOf(ask('Bearer x', 'worker', '192.0.2.7'))).toBe(429);
    expect(statusOf(ask('Bearer x', 'worker', '::ffff:192.0.2.8'))).toBe(401);
  });

  it('notes no use of a request that it refuses', () => {
    const { record, authorization } = aToken();
    const { ask, used } = aGate([record]);

    for (let i = 0; i < GOOD_LIMIT.burst; i += 1) ask(authorization);
    const before = used.length;

    expect(statusOf(ask(authorization))).toBe(503);
    expect(used).toHaveLength(before);
  });
});
