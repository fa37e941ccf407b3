import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import {
  bearerToken,
  hashJoinSecret,
  isJoinTokenId,
  newJoinToken,
  parseJoinToken,
} from '../../../../core/join';

const aToken = fc
  .record({
    id: fc.uint8Array({ minLength: 5, maxLength: 5 }),
    secret: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  })
  .map(({ id, secret }) => newJoinToken((size) => Buffer.from(size === 5 ? id : secret)));

describe('a join token', () => {
  it('is printable, with a public ID in front of 256 random bits', () => {
    const { id, text } = newJoinToken(randomBytes);

    expect(text).toMatch(/^slipway-join\.[0-9a-f]{10}\.[A-Za-z0-9_-]{43}$/);
    expect(text).toContain(`.${id}.`);
    expect(Buffer.from(text.slice(-43), 'base64url')).toHaveLength(32);
  });

  it('is another one each time', () => {
    const texts = Array.from({ length: 100 }, () => newJoinToken(randomBytes).text);

    expect(new Set(texts).size).toBe(100);
  });

  it('is known by the hash of its secret, which does not contain it', () => {
    fc.assert(
      fc.property(aToken, ({ id, text, hash }) => {
        const parts = parseJoinToken(text);

        expect(parts?.id).toBe(id);
        expect(isJoinTokenId(id)).toBe(true);
        expect(hashJoinSecret(parts?.secret ?? '')).toBe(hash);
        expect(hash).toMatch(/^[0-9a-f]{64}$/);
        expect(hash).not.toContain(parts?.secret);
      }),
    );
  });

  it('keeps every bit of the random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (secret) => {
        const { text } = newJoinToken((size) =>
          size === 5 ? Buffer.alloc(5) : Buffer.from(secret),
        );

        expect(Buffer.from(text.slice(-43), 'base64url').equals(secret)).toBe(true);
      }),
    );
  });

  it('is none with a single character more, less or other', () => {
    fc.assert(
      fc.property(aToken, fc.nat(66), fc.string({ minLength: 1 }), ({ text, hash }, at, other) => {
        const changed = [
          text.slice(0, at) + text.slice(at + 1),
          text.slice(0, at) + other + text.slice(at),
          text.slice(0, at) + other[0] + text.slice(at + 1),
        ].filter((candidate) => candidate !== text);

        for (const candidate of changed) {
          const parts = parseJoinToken(candidate);
          const isSame =
            parts !== undefined &&
            parts.id === parseJoinToken(text)?.id &&
            hashJoinSecret(parts.secret) === hash;
          expect(isSame).toBe(false);
        }
      }),
    );
  });

  it('reads no other text as a token', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseJoinToken(text)).toBeUndefined();
      }),
    );
    expect(parseJoinToken(`${newJoinToken(randomBytes).text}\n`)).toBeUndefined();
  });
});

describe('the Authorization header', () => {
  const { id, text } = newJoinToken(randomBytes);

  it.each([`Bearer ${text}`, `bearer ${text}`, `BEARER   ${text}`])('holds one: %#', (header) => {
    expect(bearerToken(header)?.id).toBe(id);
  });

  it.each([
    undefined,
    '',
    text,
    'Bearer',
    'Bearer ',
    `Basic ${text}`,
    `Bearer ${text} ${text}`,
    `Bearer ${text},Bearer ${text}`,
    ` Bearer ${text}`,
    `Bearer ${text} `,
    `Bearer ${' '.repeat(300)}${text}`,
    `Bearer ${text.toUpperCase()}`,
    'Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl',
  ])('holds none: %#', (header) => {
    expect(bearerToken(header)).toBeUndefined();
  });
});
