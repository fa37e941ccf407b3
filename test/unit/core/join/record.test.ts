import {
  isJoinTokenExpired,
  isJoinTokenForgettable,
  readJoinTokenRecord,
} from '../../../../core/join';

const FIELDS = {
  pool: 'worker',
  hash: 'a'.repeat(64),
  createdAt: '2030-01-01T00:00:00Z',
  expiresAt: '2030-01-01T02:00:00Z',
};
const at = (instant: string) => Date.parse(instant);

describe('a stored join token', () => {
  it('is read with what is optional, and without', () => {
    expect(readJoinTokenRecord('0123456789', FIELDS)).toEqual({ id: '0123456789', ...FIELDS });
    const more = { description: 'rack 4', lastUsedAt: '2030-01-01T01:00:00Z' };
    expect(readJoinTokenRecord('0123456789', { ...FIELDS, ...more })).toEqual({
      id: '0123456789',
      ...FIELDS,
      ...more,
    });
  });

  it.each([
    ['pool', undefined],
    ['pool', ''],
    ['pool', '../worker'],
    ['hash', undefined],
    ['hash', ''],
    ['hash', 'A'.repeat(64)],
    ['hash', 'a'.repeat(63)],
    ['createdAt', 'yesterday'],
    ['expiresAt', undefined],
    ['expiresAt', 'never'],
    ['expiresAt', '2030'],
    ['expiresAt', '2030-13-01T00:00:00Z'],
  ])('is none with %s %s, which is not quoted', (field, value) => {
    const read = readJoinTokenRecord('0123456789', { ...FIELDS, [field]: value });

    expect(read).toEqual({ problem: expect.stringMatching(`^${field} is not `) as string });
    if (value) expect(JSON.stringify(read)).not.toContain(value);
  });

  it('does not end because somebody wrote nonsense into the note of its use', () => {
    expect(readJoinTokenRecord('0123456789', { ...FIELDS, lastUsedAt: 'now' })).toEqual({
      id: '0123456789',
      ...FIELDS,
    });
  });
});

describe('the time of a join token', () => {
  it('is over from the instant of its expiry on', () => {
    expect(isJoinTokenExpired(FIELDS, at('2030-01-01T01:59:59.999Z'))).toBe(false);
    expect(isJoinTokenExpired(FIELDS, at('2030-01-01T02:00:00Z'))).toBe(true);
  });

  it('is over when the instant or the clock makes no sense', () => {
    expect(isJoinTokenExpired({ expiresAt: 'never' }, 0)).toBe(true);
    expect(isJoinTokenExpired(FIELDS, NaN)).toBe(true);
  });

  it('leaves it in the lists for a day', () => {
    expect(isJoinTokenForgettable(FIELDS, at('2030-01-02T01:59:59Z'))).toBe(false);
    expect(isJoinTokenForgettable(FIELDS, at('2030-01-02T02:00:00Z'))).toBe(true);
  });
});
