/**
 * Admits machines to the first config of a pool, which holds secrets. A machine has no identity
 * yet: it shows a join token, or is at least on an allowed network.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { messageOf } from '../core/errors';
import {
  bearerToken,
  hashJoinSecret,
  isJoinTokenExpired,
  type JoinTokenParts,
  type JoinTokenRecord,
} from '../core/join';
import { createAddressLimit, FAILED_LIMIT, GOOD_LIMIT } from './join-limit';
import { plainAddress, readNetworks } from './join-networks';

/** Before the pool is looked up. */
export interface JoinRequest {
  /** It may not exist. */
  readonly pool: string;
  readonly authorization: string | undefined;
  /** IPv4 may come as `::ffff:192.0.2.1`. */
  readonly address: string;
}

/** A refusal reveals nothing about pools: all faults of a token get the same answer. */
export type JoinVerdict =
  | {
      readonly admitted: true;
      /** For the log; absent without tokens. */
      readonly tokenId?: string;
    }
  | {
      readonly admitted: false;
      /**
       * 503: the tokens are not synced, whether this one is new is unknown, or this address has too
       * many requests. Ignition asks again after 5xx and gives up at 4xx.
       */
      readonly status: 401 | 403 | 429 | 503;
      /** Seconds until the next request makes sense. */
      readonly retryAfterSeconds?: number;
      /** The log names the first per minute. */
      readonly isRepeated?: true;
      /** Never in the reply. */
      readonly reason: string;
    };

/** Judges from memory. Only a final refusal may wait for the API server. */
export interface JoinGate {
  ask(request: JoinRequest): Promise<JoinVerdict>;
}

/** Judges a machine by its address alone. */
interface NetworkGate {
  /** @param address - a refused one is counted */
  allows(address: string): boolean;
}

/** `open`: everyone on an allowed network, as in MCO's server. */
export const JOIN_MODES = ['tokens', 'open'] as const;
type JoinMode = (typeof JOIN_MODES)[number];

/** Label of the metric. */
export const JOIN_OUTCOMES = [
  'admitted',
  'no_token',
  'unknown_token',
  'wrong_secret',
  'expired',
  'other_pool',
  'network',
  'rate_limited',
  'not_ready',
] as const;
type JoinOutcome = (typeof JOIN_OUTCOMES)[number];

export interface TokenView {
  /** False until all have been seen once. */
  readonly isSynced: boolean;
  find(id: string): JoinTokenRecord | undefined;
}

export interface JoinGateOptions {
  readonly mode: JoinMode;
  /** Such as `192.0.2.0/24`, `2001:db8::/32`; empty = all. */
  readonly allowedNetworks: readonly string[];
  readonly tokens: TokenView;
  /**
   * Read before a final refusal; absent = `tokens` is never old. Rejects when they cannot be read.
   */
  readonly tokensNow?: () => Promise<ReadonlyMap<string, JoinTokenRecord>>;
  /** Since 1970, to compare with the expiry. */
  readonly now: () => number;
  /** Must return at once. */
  readonly used?: (tokenId: string) => void;
  /** Monotonic, milliseconds. */
  readonly clock?: () => number;
}

export interface CountingJoinGate extends JoinGate, NetworkGate {
  readonly counts: Readonly<Record<JoinOutcome, number>>;
}

/** Until the tokens are synced. */
const NOT_READY_SECONDS = 5;

/** Stands for the secret of an unknown token, so that both take as long. */
const NO_HASH = randomBytes(32).toString('hex');

/**
 * Checks the network, the token, then the rate of the address.
 *
 * A valid token counts only against a wide limit, never against failures of its neighbours:
 * somebody who guesses must not shut out machines behind the same address. 429 and 401 are final
 * for Ignition, so the tokens are read again before a refusal; when that fails, the machine may ask
 * again. All refusals take the same time.
 *
 * @throws an Error that names the invalid network
 */
export function createJoinGate(options: JoinGateOptions): CountingJoinGate {
  const { mode, tokens, tokensNow, now, used, clock = () => performance.now() } = options;
  const networks = readNetworks(options.allowedNetworks);
  const good = createAddressLimit(GOOD_LIMIT, clock);
  const failed = createAddressLimit(FAILED_LIMIT, clock);
  const counts = Object.fromEntries(JOIN_OUTCOMES.map((outcome) => [outcome, 0])) as Record<
    JoinOutcome,
    number
  >;

  function admit(address: string, tokenId?: string): JoinVerdict {
    const wait = good.take(address);
    // A 429 would be final for a machine that did nothing wrong.
    if (wait > 0) return tooMany(503, wait, 'too many requests from this address');
    counts.admitted += 1;
    if (tokenId === undefined) return { admitted: true };
    used?.(tokenId);
    return { admitted: true, tokenId };
  }

  /** Does not reveal which token is unknown. */
  function refuseToken(address: string, { outcome, reason, isFinal }: Refusal): JoinVerdict {
    const wait = failed.take(address);
    if (wait > 0) {
      const text = `too many failed attempts from this address: ${reason}`;
      return { ...tooMany(isFinal ? 429 : 503, wait, text), isRepeated: true };
    }
    if (!isFinal) return notReady(reason);
    counts[outcome] += 1;
    return { admitted: false, status: 401, reason };
  }

  function notReady(reason: string): Refused {
    counts.not_ready += 1;
    return { admitted: false, status: 503, retryAfterSeconds: NOT_READY_SECONDS, reason };
  }

  function tooMany(status: 429 | 503, retryAfterSeconds: number, reason: string): Refused {
    counts.rate_limited += 1;
    return { admitted: false, status, retryAfterSeconds, reason };
  }

  function allows(peer: string): boolean {
    const isAllowed = networks.include(plainAddress(peer));
    if (!isAllowed) counts.network += 1;
    return isAllowed;
  }

  return {
    counts,
    allows,
    async ask({ pool, authorization, address: peer }) {
      const address = plainAddress(peer);
      if (!allows(address)) {
        return { admitted: false, status: 403, reason: 'the address is on no allowed network' };
      }
      if (mode === 'open') return admit(address);
      if (!tokens.isSynced) return notReady('the join tokens have not been seen yet');
      const verdict = judge(authorization, { pool, find: (id) => tokens.find(id), nowMs: now() });
      if ('tokenId' in verdict) return admit(address, verdict.tokenId);
      const last = await judgeAgain(verdict, { pool, authorization, tokensNow, now });
      return 'tokenId' in last ? admit(address, last.tokenId) : refuseToken(address, last);
    },
  };
}

type Refused = Extract<JoinVerdict, { readonly admitted: false }>;

interface Objection {
  readonly outcome: 'no_token' | 'unknown_token' | 'wrong_secret' | 'expired' | 'other_pool';
  readonly reason: string;
}

interface Refusal extends Objection {
  /** Asking again would not change the refusal. */
  readonly isFinal: boolean;
}

interface Against {
  readonly pool: string;
  readonly find: TokenView['find'];
  readonly nowMs: number;
}

function judge(
  authorization: string | undefined,
  against: Against,
): Objection | { readonly tokenId: string } {
  const shown = bearerToken(authorization);
  if (shown === undefined) {
    const reason = authorization === undefined ? 'no join token' : 'this is no join token';
    return { outcome: 'no_token', reason };
  }
  return objectionTo(shown, against) ?? { tokenId: shown.id };
}

async function judgeAgain(
  objection: Objection,
  request: Pick<JoinRequest, 'authorization' | 'pool'> &
    Pick<JoinGateOptions, 'now'> & { readonly tokensNow: JoinGateOptions['tokensNow'] | undefined },
): Promise<Refusal | { readonly tokenId: string }> {
  const { authorization, pool, tokensNow, now } = request;
  if (tokensNow === undefined) return { ...objection, isFinal: true };
  try {
    const stored = await tokensNow();
    const find: TokenView['find'] = (id) => stored.get(id);
    const verdict = judge(authorization, { pool, find, nowMs: now() });
    return 'tokenId' in verdict ? verdict : { ...verdict, isFinal: true };
  } catch (error) {
    const reason = `${objection.reason}, or not seen yet: ${messageOf(error)}`;
    return { ...objection, reason, isFinal: false };
  }
}

/** Undefined = the token opens the pool. The secret is checked first. */
function objectionTo(
  { id, secret }: JoinTokenParts,
  { pool, find, nowMs }: Against,
): Objection | undefined {
  const known = find(id);
  const isRight = sameHash(hashJoinSecret(secret), known?.hash ?? NO_HASH);
  if (known === undefined) return { outcome: 'unknown_token', reason: `unknown join token ${id}` };
  if (!isRight) {
    return { outcome: 'wrong_secret', reason: `the secret of join token ${id} is wrong` };
  }
  if (isJoinTokenExpired(known, nowMs)) {
    return { outcome: 'expired', reason: `join token ${id} expired at ${known.expiresAt}` };
  }
  if (known.pool !== pool) {
    return { outcome: 'other_pool', reason: `join token ${id} is for pool ${known.pool}` };
  }
  return undefined;
}

/** Both are 64 hexadecimal digits. */
function sameHash(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));
}
