/** The private key of orders as a Secret holds it, and its successor. */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { messageOf } from '../../../core/errors';
import {
  countsAt,
  keyIdOf,
  type OrderKeys,
  readOrderKeys,
  readStatements,
  type SignedAs,
  signedBytes,
  type SignedText,
} from '../../../core/orders';

/** Fields of the Secret `slipway-order-key`, as texts. */
export interface StoredOrderKey {
  /** PKCS 8. */
  readonly 'key.pem': string;
  /** Absent in a Secret of a person: the key has no predecessor. */
  readonly 'keys.json'?: string;
  readonly 'statements.json'?: string;
}

/** What everybody may know of it: fields of the ConfigMap `slipway-order-keys`. */
export type PublishedOrderKeys = Required<Omit<StoredOrderKey, 'key.pem'>>;

/** Longer than any order is good for. */
const OVERLAP_MS = 7 * 24 * 3_600_000;
/** A host that has missed more needs the keys by hand. */
const STATEMENTS_KEPT = 8;

export class OrderSigningKey {
  readonly id: string;
  readonly keys: OrderKeys;
  readonly statements: readonly SignedText[];
  readonly #key: KeyObject;

  /** @throws an Error that names the field, and never quotes it */
  constructor(stored: StoredOrderKey) {
    this.#key = readKey(stored['key.pem']);
    const publicKey = publicOf(this.#key);
    this.id = keyIdOf(publicKey);
    const { 'keys.json': keys, 'statements.json': statements = '[]' } = stored;
    this.keys =
      keys === undefined
        ? { serial: 1, keys: [{ id: this.id, publicKey }] }
        : named('keys.json', () => readOrderKeys(keys));
    this.statements = named('statements.json', () => readStatements(statements));
    const isKnown = this.keys.keys.some((key) => key.id === this.id && key.until === undefined);
    if (!isKnown) throw new Error('keys.json: does not name the key of key.pem');
  }

  sign(text: string): SignedText {
    return this.#sign('order', text);
  }

  get published(): PublishedOrderKeys {
    return {
      'keys.json': JSON.stringify(this.keys),
      'statements.json': JSON.stringify(this.statements),
    };
  }

  /** Another key, of which this one says that it counts from now on; this one counts for seven days more. */
  next(now: Date): StoredOrderKey {
    const { privateKey } = generateKeyPairSync('ed25519');
    const publicKey = publicOf(privateKey);
    const until = new Date(now.getTime() + OVERLAP_MS).toISOString();
    const earlier = this.keys.keys
      .filter((key) => countsAt(key, now))
      .map((key) => (key.until === undefined ? { ...key, until } : key));
    const keys: OrderKeys = {
      serial: this.keys.serial + 1,
      keys: [{ id: keyIdOf(publicKey), publicKey }, ...earlier],
    };
    const text = JSON.stringify(keys);
    const statements = [...this.statements, this.#sign('order keys', text)].slice(-STATEMENTS_KEPT);
    return {
      'key.pem': pemOf(privateKey),
      'keys.json': text,
      'statements.json': JSON.stringify(statements),
    };
  }

  #sign(as: SignedAs, text: string): SignedText {
    const signature = sign(null, signedBytes(as, text), this.#key).toString('base64');
    return { text, signature, keyId: this.id };
  }
}

/** The first key of a cluster. */
export function firstOrderKey(): StoredOrderKey {
  return { 'key.pem': pemOf(generateKeyPairSync('ed25519').privateKey) };
}

function readKey(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The error may quote it.
    throw new Error('key.pem: is no private key in PEM');
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('key.pem: is no Ed25519 key');
  return key;
}

function publicOf(key: KeyObject): string {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64');
}

function pemOf(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}

function named<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${field}: ${messageOf(error)}`, { cause: error });
  }
}
