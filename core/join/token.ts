/**
 * The text of a join token: `slipway-join.<id>.<secret>`. The ID is public and names the token in
 * lists and logs; the secret opens the first config of a pool.
 */

import { createHash } from 'node:crypto';

const PREFIX = 'slipway-join';

/** 256 bits cannot be guessed, however fast a server answers. */
const SECRET_BYTES = 32;
const ID_BYTES = 5;

const ID = /^[0-9a-f]{10}$/;
const TOKEN = /^slipway-join\.([0-9a-f]{10})\.([A-Za-z0-9_-]{43})$/;

/** RFC 6750: the scheme in any case, one or more blanks, the token. */
const BEARER = /^bearer +(\S+)$/i;

/** A longer header holds no token of Slipway. */
const HEADER_LIMIT = 256;

/** A new token; `text` is shown once and stored nowhere. */
interface NewJoinToken {
  readonly id: string;
  readonly text: string;
  readonly hash: string;
}

export interface JoinTokenParts {
  readonly id: string;
  readonly secret: string;
}

/** Makes a token. The caller that stores it checks its ID against others. */
export function newJoinToken(randomBytes: (size: number) => Buffer): NewJoinToken {
  const id = randomBytes(ID_BYTES).toString('hex');
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { id, text: `${PREFIX}.${id}.${secret}`, hash: hashJoinSecret(secret) };
}

/** Undefined for any text that `newJoinToken` cannot have made. */
export function parseJoinToken(text: string): JoinTokenParts | undefined {
  const [, id, secret] = TOKEN.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/**
 * The stored hash of a secret. A slow hash protects short passwords; for 256 random bits it would
 * only slow the server down.
 */
export function hashJoinSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

export function isJoinTokenId(text: string): boolean {
  return ID.test(text);
}

/** The token of an `Authorization` header; undefined when it holds none of Slipway. */
export function bearerToken(authorization: string | undefined): JoinTokenParts | undefined {
  if (authorization === undefined || authorization.length > HEADER_LIMIT) return undefined;
  const token = BEARER.exec(authorization)?.[1];
  return token === undefined ? undefined : parseJoinToken(token);
}
