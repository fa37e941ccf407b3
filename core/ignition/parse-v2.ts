/**
 * Reads a config of specification 2.0, 2.1 or 2.2 and gives it in 2.2.
 *
 * @see MCO vendor/github.com/coreos/ignition/config/v2_2/config.go (7ff337a4)
 */

import { decodeStruct, TypeMismatch } from './decode';
import type { RawIgnition } from './raw';
import type { Refusal } from './parse-v3';
import { wordOf, type IgnitionObject } from './schema';
import { SCHEMA_V2 } from './schema-v2';
import { parseVersion, sameVersion } from './semver';

export type ParsedV2 = { readonly config: IgnitionObject } | Refusal;

/** A document of a wrong shape counts as one of an unknown version, as there. */
export function parseV2(raw: RawIgnition): ParsedV2 {
  let config: IgnitionObject;
  try {
    config = decodeStruct(raw.value, SCHEMA_V2, 'types.Config');
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    return { reason: 'unknown version', report: '', errors: [] };
  }
  const ignition = config['ignition'] as IgnitionObject | undefined;
  const version = parseVersion(wordOf(ignition?.['version']));
  const known = [0, 1, 2].find(
    (minor) => version !== undefined && sameVersion(version, { major: 2, minor }),
  );
  if (known === undefined) return { reason: 'unknown version', report: '', errors: [] };
  return { config };
}
