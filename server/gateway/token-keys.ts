/** The keys of task tokens, made of those of the payloads: a mounted Secret, the same for all replicas. */

import { hkdfSync } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/errors';
import type { FollowLog } from '../follow-files';

export interface TokenKeys {
  /** The newest that every replica knows. */
  signing(): Buffer;
  /** Those that count. Looks for new ones if `isUnknown`. */
  all(isUnknown?: boolean): readonly Buffer[];
}

interface Key {
  readonly madeMs: number;
  readonly key: Buffer;
}

/** Named by the second in which it was made: `20261130T105148Z`. */
const ID = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
const KEY_BYTES = 32;
const PURPOSE = 'slipway task token';
/** Every replica reads a new key within this time: until then it signs nothing. */
const KNOWN_TO_ALL_MS = 10 * 60_000;
const LOOK_MS = 30_000;
const LOOK_AGAIN_MS = 1_000;

/**
 * Later keys are found within half a minute. Keys that cannot be read are logged, and the known ones
 * stay.
 *
 * @param directory - of files with 32 bytes
 * @throws an Error named SettingsError that names the file
 */
export function openTokenKeys(
  directory: string,
  { log, now = Date.now }: { readonly log: FollowLog; readonly now?: () => number },
): TokenKeys {
  let keys = readKeys(directory);
  let lookedMs = now();
  const look = (afterMs: number): void => {
    if (now() - lookedMs < afterMs) return;
    lookedMs = now();
    try {
      keys = readKeys(directory);
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'keys of task tokens stay for now');
    }
  };
  return {
    signing() {
      look(LOOK_MS);
      const known = keys.findLast(({ madeMs }) => madeMs <= now() - KNOWN_TO_ALL_MS);
      return (known ?? keys[0]).key;
    },
    all(isUnknown = false) {
      look(isUnknown ? LOOK_AGAIN_MS : LOOK_MS);
      return keys.map(({ key }) => key);
    },
  };
}

/** The oldest first. */
type Keys = readonly [Key, ...Key[]];

function readKeys(directory: string): Keys {
  const [first, ...others] = namesIn(directory).map((name) => readKey(directory, name));
  if (first === undefined) throw unusable(`there is no key in ${directory}`);
  return [first, ...others];
}

function namesIn(directory: string): readonly string[] {
  try {
    // A mounted Secret has `..data` beside its entries.
    return readdirSync(directory)
      .filter((name) => !name.startsWith('.'))
      .sort();
  } catch (error) {
    throw unusable(`${directory} cannot be read: ${messageOf(error)}`, error);
  }
}

function readKey(directory: string, name: string): Key {
  const file = join(directory, name);
  const madeMs = Date.parse(name.replace(ID, '$1-$2-$3T$4:$5:$6Z'));
  if (!ID.test(name) || Number.isNaN(madeMs)) {
    throw unusable(`${file} is not named by the time it was made, such as 20261130T105148Z`);
  }
  const bytes = contentOf(file);
  if (bytes.length !== KEY_BYTES) {
    throw unusable(`${file} has ${bytes.length} bytes, not ${KEY_BYTES}`);
  }
  return { madeMs, key: Buffer.from(hkdfSync('sha256', bytes, '', PURPOSE, KEY_BYTES)) };
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw unusable(`${file} cannot be read: ${messageOf(error)}`, error);
  }
}

function unusable(message: string, cause?: unknown): Error {
  const error = new Error(`payloadKeys: ${message}`, { cause });
  return Object.assign(error, { name: 'SettingsError' });
}
