/** Stored join tokens and their expiry. */

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
  /** RFC 3339; from this instant on it is invalid. */
  readonly expiresAt: string;
  readonly description?: string;
  /** RFC 3339, at most a minute late; absent = never. */
  readonly lastUsedAt?: string;
}

/** A stored token, or why the stored data is invalid. */
export type StoredJoinToken =
  JoinTokenRecord | { readonly id: string; readonly problem: string; readonly createdAt?: string };

/** A token has to live only until its machines have booted. */
export const JOIN_TOKEN_TTL = {
  DEFAULT_SECONDS: 2 * 3600,
  MIN_SECONDS: 60,
  /** For long-lived user data of machine sets, which a person renews now and then. */
  MAX_SECONDS: 90 * 24 * 3600,
} as const;

/** Expired tokens are kept this long, so that lists and logs can still name them. */
const JOIN_TOKEN_KEPT_SECONDS = 24 * 3600;

/** A use is recorded at most this often for each token. */
export const JOIN_TOKEN_USE_SECONDS = 60;

export const JOIN_DESCRIPTION_LIMIT = 200;

/** @param nowMs - milliseconds since 1970 */
export function isJoinTokenExpired(
  { expiresAt }: Pick<JoinTokenRecord, 'expiresAt'>,
  nowMs: number,
): boolean {
  // An invalid instant compares as false: such a token must be expired, not eternal.
  return !(nowMs < Date.parse(expiresAt));
}

export function isJoinTokenForgettable(
  { expiresAt }: Pick<JoinTokenRecord, 'expiresAt'>,
  nowMs: number,
): boolean {
  return nowMs >= Date.parse(expiresAt) + JOIN_TOKEN_KEPT_SECONDS * 1000;
}

const HASH = /^[0-9a-f]{64}$/;

/**
 * Checks stored data. Any writer of Secrets can store nonsense, and a token must not open more by
 * it.
 *
 * @returns the record, or its problems by field; never quotes a value
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
