/**
 * Reads a config of any version that MCO reads as 3.5, with MCO's errors.
 *
 * @see MCO pkg/controller/common/ign_helpers.go (7ff337a4), IgnParseWrapper, ParseAndConvertConfig
 */

import { fail } from '../errors';
import { parseV2 } from './parse-v2';
import { parseV3, type Refusal } from './parse-v3';
import type { RawIgnition } from './raw';
import type { IgnitionObject } from './schema';
import type { Minor } from './schema-v3';
import { translateV2, withoutDuplicates } from './translate-v2';

/** A config that its own specification accepts: 3.x as 3.5, 2.x as 2.2. */
export type ParsedIgnition =
  | { readonly spec: 3; readonly config: IgnitionObject; readonly minor: Minor }
  | { readonly spec: 2; readonly config: IgnitionObject };

export const SUPPORTED_VERSIONS = '2.2,3.0,3.1,3.2,3.3,3.4,3.5';

/**
 * Parses and validates a config in its own specification.
 *
 * @throws InvalidIgnition with MCO's words
 */
export function parseIgnition(raw: RawIgnition): ParsedIgnition {
  const read = readIgnition(raw);
  if ('config' in read) return read;
  throw refused(read);
}

/** The config, or why its own specification refuses it. */
export function readIgnition(
  raw: RawIgnition,
): ParsedIgnition | (Refusal & { readonly spec: 2 | 3 }) {
  const parsed = parseV3(raw);
  if ('config' in parsed) return { spec: 3, ...parsed };
  if (parsed.reason !== 'unknown version') return { spec: 3, ...parsed };
  const older = parseV2(raw);
  if ('config' in older) return { spec: 2, ...older };
  return older.reason === 'unknown version' ? { spec: 3, ...parsed } : { spec: 2, ...older };
}

function refused(refusal: Refusal & { readonly spec: 2 | 3 }): Error {
  const spec = refusal.spec === 2 ? 'spec v2' : 'config spec v3';
  if (refusal.reason === 'invalid') {
    return fail(
      'InvalidIgnition',
      `parsing Ignition ${spec} failed with error: config is not valid\nReport: ${refusal.report}`,
    );
  }
  return fail(
    'InvalidIgnition',
    `parsing Ignition config failed: ${refusal.reason}. Supported spec versions: ${SUPPORTED_VERSIONS}`,
  );
}

/** MCO's error for an absent config where one is required. */
export function emptyIgnitionError(): Error {
  return fail(
    'InvalidIgnition',
    'parsing Ignition config spec v3 failed with error: not a config (empty)\nReport: ',
  );
}

/**
 * The config in 3.5.
 *
 * @throws InvalidIgnition for a config of specification 2 that 3 cannot express
 */
export function convertIgnition(parsed: ParsedIgnition): IgnitionObject {
  return parsed.spec === 3 ? parsed.config : translateV2(withoutDuplicates(parsed.config));
}
