/**
 * The keys of payloads: entries of a Secret, of 32 bytes each, named by the second in which they were
 * made (`20261130T105148Z`). What is made of them, such as the cipher, uses a key derived for it alone.
 */

import { hkdfSync } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/errors';

const ID = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
export const KEY_BYTES = 32;
/** Every process reads a new key within this time: until then none is used that others may not know. */
const KNOWN_TO_ALL_MS = 10 * 60_000;
const LOOK_MS = 30_000;
const LOOK_AGAIN_MS = 1_000;

export class PayloadKey {
  readonly madeMs: number;
  readonly #bytes: Buffer;
  readonly #derived = new Map<string, Buffer>();

  /** @throws an Error that quotes no key */
  constructor(
    readonly id: string,
    bytes: Buffer,
  ) {
    this.madeMs = Date.parse(id.replace(ID, '$1-$2-$3T$4:$5:$6Z'));
    if (!ID.test(id) || Number.isNaN(this.madeMs)) {
      throw new Error(`${id} is not named by the time it was made, such as 20261130T105148Z`);
    }
    if (bytes.length !== KEY_BYTES) {
      throw new Error(`${id} has ${bytes.length} bytes, not ${KEY_BYTES}`);
    }
    this.#bytes = bytes;
  }

  /** 32 bytes. */
  for(purpose: string): Buffer {
    const known = this.#derived.get(purpose);
    if (known !== undefined) return known;
    const derived = Buffer.from(hkdfSync('sha256', this.#bytes, '', purpose, KEY_BYTES));
    this.#derived.set(purpose, derived);
    return derived;
  }
}

/** A name for a key that is made now. */
export function payloadKeyId(now: Date): string {
  return now.toISOString().replace(/\.\d+/, '').replace(/[-:]/g, '');
}

/** The newest key that every process knows; of new keys alone, the oldest. */
export function currentOf(keys: readonly [PayloadKey, ...PayloadKey[]], nowMs: number): PayloadKey {
  return keys.findLast(({ madeMs }) => madeMs <= nowMs - KNOWN_TO_ALL_MS) ?? keys[0];
}

/** The oldest first; undefined = there is none. @throws an Error that names the entry */
export function payloadKeysOf(
  entries: Iterable<readonly [id: string, bytes: Buffer]>,
): readonly [PayloadKey, ...PayloadKey[]] | undefined {
  const [first, ...others] = [...entries]
    .map(([id, bytes]) => new PayloadKey(id, bytes))
    .sort((one, other) => one.madeMs - other.madeMs);
  return first === undefined ? undefined : [first, ...others];
}

type MaybeLater<T> = T | Promise<T>;

/** Where keys are found. */
export interface PayloadKeys {
  /** To encode with; undefined = nothing is encoded. */
  current(): MaybeLater<PayloadKey | undefined>;
  /** Looks for new ones if `isUnknown`. */
  all(isUnknown?: boolean): MaybeLater<readonly PayloadKey[]>;
}

interface Following {
  readonly log: { warn(fields: object, message: string): void };
  readonly now?: () => number;
  /** The Secret may be made later. */
  readonly mayCome?: boolean;
}

/** Mounted keys. Later ones are found within half a minute; while they cannot be read, the known ones stay. */
export class PayloadKeyFiles implements PayloadKeys {
  readonly #directory: string;
  readonly #options: Following;
  readonly #now: () => number;
  #keys: readonly [PayloadKey, ...PayloadKey[]] | undefined;
  #lookedMs: number;

  /** @throws an Error named SettingsError that names the file */
  constructor(directory: string, options: Following) {
    this.#directory = directory;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#lookedMs = this.#now();
    try {
      this.#keys = readKeys(directory);
    } catch (error) {
      if (options.mayCome !== true) throw error;
    }
  }

  /** @throws an Error while there is none yet */
  current(): PayloadKey {
    this.#look(LOOK_MS);
    if (this.#keys === undefined) throw unusable(`there is no key in ${this.#directory} yet`);
    return currentOf(this.#keys, this.#now());
  }

  all(isUnknown = false): readonly PayloadKey[] {
    this.#look(isUnknown ? LOOK_AGAIN_MS : LOOK_MS);
    return this.#keys ?? [];
  }

  /** What a process waits for. */
  waitingFor(): readonly string[] {
    this.#look(LOOK_MS);
    return this.#keys === undefined ? [`the keys of payloads in ${this.#directory}`] : [];
  }

  #look(afterMs: number): void {
    const isAwaited = this.#keys === undefined;
    if (this.#now() - this.#lookedMs < (isAwaited ? LOOK_AGAIN_MS : afterMs)) return;
    this.#lookedMs = this.#now();
    try {
      this.#keys = readKeys(this.#directory);
    } catch (error) {
      if (isAwaited) return;
      this.#options.log.warn({ reason: messageOf(error) }, 'keys of payloads stay for now');
    }
  }
}

function readKeys(directory: string): readonly [PayloadKey, ...PayloadKey[]] {
  const entries = namesIn(directory).map((name) => [name, contentOf(directory, name)] as const);
  const keys = inWords(directory, () => payloadKeysOf(entries));
  if (keys === undefined) throw unusable(`there is no key in ${directory}`);
  return keys;
}

function namesIn(directory: string): readonly string[] {
  return inWords(directory, () =>
    // A mounted Secret has `..data` beside its entries.
    readdirSync(directory).filter((name) => !name.startsWith('.')),
  );
}

function contentOf(directory: string, name: string): Buffer {
  return inWords(directory, () => readFileSync(join(directory, name)));
}

function inWords<T>(directory: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unusable(`${directory}: ${messageOf(error)}`, error);
  }
}

function unusable(message: string, cause?: unknown): Error {
  const error = new Error(`payloadKeys: ${message}`, { cause });
  return Object.assign(error, { name: 'SettingsError' });
}
