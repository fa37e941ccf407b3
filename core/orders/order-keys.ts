/**
 * The public keys by which a host knows the orders of its cluster, and the statements that roll them: each names the
 * keys that count from then on, and is signed by one that counted until then.
 */

import { messageOf } from '../errors';
import { isRecord } from '../is-record';
import { isSignedBy, isSignedText, keyIdOf, type SignedText } from './signed-text';

export interface OrderKey {
  readonly id: string;
  /** SPKI in base 64. */
  readonly publicKey: string;
  /** RFC 3339: what is signed later does not count; absent = no end. */
  readonly until?: string;
}

export interface OrderKeys {
  /** Grows with each change of the keys. */
  readonly serial: number;
  readonly keys: readonly OrderKey[];
}

/** More than a cluster ever has. */
const KEYS_AT_MOST = 8;
/** Twice as many as are kept. */
const STATEMENTS_AT_MOST = 16;

/** @throws an Error that says what is wrong with the text */
export function readOrderKeys(text: string): OrderKeys {
  const parsed = parsedJson(text);
  const { serial, keys } = isRecord(parsed) ? parsed : {};
  if (typeof serial !== 'number' || !Number.isSafeInteger(serial)) {
    throw new Error('serial: is not a number');
  }
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > KEYS_AT_MOST) {
    throw new Error(`keys: is not a list of one to ${KEYS_AT_MOST} keys`);
  }
  return { serial, keys: (keys as readonly unknown[]).map(readKey) };
}

function readKey(value: unknown, index: number): OrderKey {
  const { publicKey, until } = isRecord(value) ? value : {};
  if (typeof publicKey !== 'string') throw new Error(`keys[${index}].publicKey: is not a text`);
  const id = keyIdOf(publicKey);
  if (until === undefined) return { id, publicKey };
  if (typeof until !== 'string' || Number.isNaN(Date.parse(until))) {
    throw new Error(`keys[${index}].until: is not a time`);
  }
  return { id, publicKey, until };
}

/** @throws an Error that says what is wrong with the text */
export function readStatements(text: string): readonly SignedText[] {
  const parsed = parsedJson(text);
  if (!Array.isArray(parsed) || !parsed.every(isSignedText)) {
    throw new Error('is not a list of signed statements');
  }
  return parsed;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`is not JSON: ${messageOf(error)}`, { cause: error });
  }
}

/** Undefined = none of that ID. */
export function keyOf({ keys }: OrderKeys, keyId: string): OrderKey | undefined {
  return keys.find(({ id }) => id === keyId);
}

export function countsAt({ until }: OrderKey, at: Date): boolean {
  return until === undefined || at.getTime() <= Date.parse(until);
}

/**
 * The keys after all statements that follow from the known ones. Others change nothing: old ones, and those that no key
 * has signed that counts.
 */
export function learnKeys(
  known: OrderKeys,
  statements: readonly SignedText[],
  now: Date,
): OrderKeys {
  let keys = known;
  for (const statement of statements.slice(-STATEMENTS_AT_MOST)) {
    const signer = keyOf(keys, statement.keyId);
    if (signer === undefined || !countsAt(signer, now)) continue;
    if (!isSignedBy(signer.publicKey, 'order keys', statement)) continue;
    const said = readSafely(statement.text);
    if (said !== undefined && said.serial > keys.serial) keys = said;
  }
  return keys;
}

/** It is signed, but by a later Slipway perhaps. */
function readSafely(text: string): OrderKeys | undefined {
  try {
    return readOrderKeys(text);
  } catch {
    return undefined;
  }
}
