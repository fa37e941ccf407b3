/** What is remembered of a join token, and whether it still lets machines in. */

import { OBJECT_NAME } from '../names';

/** A stored token, without its secret. */
export interface JoinTokenRecord {
  readonly id: string;
  /** The one pool whose first config it opens. */
  readonly pool: string;
  /** SHA-256 of the secret, 64 lower-case hexadecimal digits. */
  readonly hash: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** RFC 3339; from this instant on it is worth nothing. */
  readonly expiresAt: string;
  readonly description?: string;
  /** RFC 3339, at most a minute late; absent = never. */
  readonly lastUsedAt?: string;
}

/** A stored token, or why what is stored is none. */
export type StoredJoinToken =
  JoinTokenRecord | { readonly id: string; readonly problem: string; readonly createdAt?: string };

/** A token needs to live only until the machines that were given it have booted. */
export const JOIN_TOKEN_TTL = {
  DEFAULT_SECONDS: 2 * 3600,
  MIN_SECONDS: 60,
  /** For user data that machine sets keep for long; somebody has to renew them now and then. */
  MAX_SECONDS: 90 * 24 * 3600,
} as const;

/** How long an expired token is kept, so that lists and logs can still say what it was. */
export const JOIN_TOKEN_KEPT_SECONDS = 24 * 3600;

/** A use is written down at most this often for each token. */
export const JOIN_TOKEN_USE_SECONDS = 60;

export const JOIN_DESCRIPTION_LIMIT = 200;

/** Whether the token is over. @param nowMs - milliseconds since 1970 */
export function isJoinTokenExpired(
  { expiresAt }: Pick<JoinTokenRecord, 'expiresAt'>,
  nowMs: number,
): boolean {
  // An instant that cannot be read compares as false: such a token must be over, not eternal.
  return !(nowMs < Date.parse(expiresAt));
}

/** Whether the token has been over for so long that it can be forgotten. */
export function isJoinTokenForgettable(
  { expiresAt }: Pick<JoinTokenRecord, 'expiresAt'>,
  nowMs: number,
): boolean {
  return nowMs >= Date.parse(expiresAt) + JOIN_TOKEN_KEPT_SECONDS * 1000;
}

/** An instant as Kubernetes writes it: RFC 3339 in UTC, whole seconds. */
export function instantOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

const HASH = /^[0-9a-f]{64}$/;

/**
 * Checks what was stored. Anybody who may write Secrets can write nonsense, and a token must not get
 * wider by it.
 *
 * @returns the record, or what is wrong with it by field; never quotes a value
 */
export function readJoinTokenRecord(
  id: string,
  fields: Readonly<Record<string, string | undefined>>,
): JoinTokenRecord | { readonly problem: string } {
  const { pool, hash, createdAt, expiresAt, description, lastUsedAt } = fields;
  if (pool === undefined || !OBJECT_NAME.test(pool))
    return { problem: 'pool is not the name of a pool' };
  if (hash === undefined || !HASH.test(hash)) return { problem: 'hash is not a SHA-256 in hex' };
  if (!isInstant(createdAt)) return { problem: 'createdAt is not an RFC 3339 instant' };
  if (!isInstant(expiresAt)) return { problem: 'expiresAt is not an RFC 3339 instant' };
  return {
    id,
    pool,
    hash,
    createdAt,
    expiresAt,
    ...(description === undefined ? {} : { description }),
    ...(isInstant(lastUsedAt) ? { lastUsedAt } : {}),
  };
}

function isInstant(text: string | undefined): text is string {
  return (
    text !== undefined &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
    !Number.isNaN(Date.parse(text))
  );
}
