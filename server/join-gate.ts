/**
 * Who may have the first config of a pool: a config holds secrets, and a machine that has not booted
 * yet has no identity, so it shows a join token, or is at least on a network where machines boot.
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

/** One request for a pool's first config, before anything about the pool has been looked at. */
export interface JoinRequest {
  /** As it stands in the path, decoded; whether there is such a pool is not known. */
  readonly pool: string;
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
  /** Address of the peer's end of the connection; IPv4 may come as `::ffff:192.0.2.1`. */
  readonly address: string;
}

/**
 * Whether a machine gets a config. A refusal says nothing about pools: a wrong token, one for another
 * pool and none at all are the same to who asks.
 */
export type JoinVerdict =
  | {
      readonly admitted: true;
      /** What let it in, for the log; absent without tokens. Never the token. */
      readonly tokenId?: string;
    }
  | {
      readonly admitted: false;
      /**
       * 503: the tokens have not been seen yet, nobody says whether this one is new, or machines behind
       * this address ask for too much at once. Ignition asks again after 5xx and gives up at 4xx.
       */
      readonly status: 401 | 403 | 429 | 503;
      /** Seconds until asking again makes sense. */
      readonly retryAfterSeconds?: number;
      /** One of many: the log names the first of a minute. */
      readonly isRepeated?: true;
      /** For the log, never for the reply. */
      readonly reason: string;
    };

/**
 * Admits from memory, and what it has to write, it writes behind this call; only a refusal that would be
 * final may wait for the API server.
 */
export interface JoinGate {
  ask(request: JoinRequest): Promise<JoinVerdict>;
}

/** What is known of a machine before it has said anything. */
export interface NetworkGate {
  /** @param address - of the peer, as in a request; one that is on no allowed network is counted */
  allows(address: string): boolean;
}

/** `open`: everybody on an allowed network, as MCO's server does it. */
export const JOIN_MODES = ['tokens', 'open'] as const;
export type JoinMode = (typeof JOIN_MODES)[number];

/** How a request was judged; the label of the metric. */
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
export type JoinOutcome = (typeof JOIN_OUTCOMES)[number];

/** The stored tokens, in memory. */
export interface TokenView {
  /** False until all of them have been seen once. */
  readonly isSynced: boolean;
  find(id: string): JoinTokenRecord | undefined;
}

export interface JoinGateOptions {
  readonly mode: JoinMode;
  /** `192.0.2.0/24`, `2001:db8::/32` or single addresses; empty = from everywhere. */
  readonly allowedNetworks: readonly string[];
  readonly tokens: TokenView;
  /**
   * The tokens as they are stored now, looked at before anybody is refused for good; absent = `tokens` is
   * never behind. Rejects when nobody knows.
   */
  readonly tokensNow?: () => Promise<ReadonlyMap<string, JoinTokenRecord>>;
  /** Milliseconds since 1970: what expiry is compared with. */
  readonly now: () => number;
  /** Told of each use of a token; must return at once. */
  readonly used?: (tokenId: string) => void;
  /** Milliseconds of a clock that never goes back; the default is the process'. */
  readonly clock?: () => number;
}

/** The gate, and how often it judged how since it was made. */
export interface CountingJoinGate extends JoinGate, NetworkGate {
  readonly counts: Readonly<Record<JoinOutcome, number>>;
}

/** Until the first picture of the tokens is there. */
const NOT_READY_SECONDS = 5;

/** What the secret of an unknown token is compared with, so that this takes as long as any other. */
const NO_HASH = randomBytes(32).toString('hex');

/**
 * Makes the gate. First the network, then the token, then how often this address asks.
 *
 * A valid token counts against a wide limit only and never against failures of its neighbours: machines
 * behind one address must not be shut out by somebody there who guesses, and Ignition takes a 429 for
 * final. It takes a 401 so, too: a token may be too new to be known, so nobody is refused before the tokens
 * have been read once more, and where they cannot be, whoever is refused may ask again. That takes the same
 * time whatever was shown. What makes guessing hopeless is the size of the secret; the limit on failures
 * keeps it cheap.
 *
 * @throws an Error that names the network that is none
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
    // Not the fault of this machine: a 429 would be final for it.
    if (wait > 0) return tooMany(503, wait, 'too many requests from this address');
    counts.admitted += 1;
    if (tokenId === undefined) return { admitted: true };
    used?.(tokenId);
    return { admitted: true, tokenId };
  }

  /** Whatever is wrong with it: nobody learns from the answer which token is unknown. */
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
  /** Whether it stays so however often the machine asks. */
  readonly isFinal: boolean;
}

interface Against {
  readonly pool: string;
  readonly find: TokenView['find'];
  readonly nowMs: number;
}

/** Which token opens a pool, or why none does. */
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

/** What becomes of an objection when the tokens are looked at as they are stored now. */
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

/** Why a token does not open a pool; undefined = it does. The secret comes first: it is what counts. */
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
