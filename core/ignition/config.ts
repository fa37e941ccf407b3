/** Operations on configs of specification 3.5. */

import { failureName, fail, messageOf } from '../errors';
import { encodeStruct } from './encode';
import { mergeStructs } from './merge';
import { convertIgnition, emptyIgnitionError, parseIgnition } from './parse';
import type { RawIgnition } from './raw';
import { formatReport, isFatal } from './report';
import { listOf, structOf } from './rules';
import { wordOf, type IgnitionObject } from './schema';
import { CURRENT_MINOR, schemaV3 } from './schema-v3';
import { validateV3 } from './validate';

export const EMPTY_IGNITION: IgnitionObject = { ignition: { version: '3.5.0' } };

/** Highest permission bits of a file; special bits are refused. */
const MODE_MAX = 0o777;

/** Merges the configs one after the other onto the first, as Ignition does. */
export function mergeIgnition(configs: readonly IgnitionObject[]): IgnitionObject {
  return mergeStructs(configs, schemaV3(CURRENT_MINOR));
}

/** The plain JSON object of a config, keys in the order of Ignition's encoder. */
export function encodeIgnition(config: IgnitionObject): IgnitionObject {
  return encodeStruct(config, schemaV3(CURRENT_MINOR));
}

/**
 * Parses, validates and converts to 3.5.
 *
 * @param raw - undefined counts as an empty document
 * @throws InvalidIgnition with MCO's words
 * @see MCO pkg/controller/common/ign_helpers.go (7ff337a4), ParseAndConvertConfig
 */
export function parseAndConvert(raw: RawIgnition | undefined): IgnitionObject {
  if (raw === undefined) throw inParse(emptyIgnitionError());
  let parsed;
  try {
    parsed = parseIgnition(raw);
  } catch (error) {
    throw inParse(error);
  }
  return convertIgnition(parsed);
}

function inParse(error: unknown): unknown {
  if (failureName(error) !== 'InvalidIgnition') return error;
  return fail('InvalidIgnition', `failed to parse Ignition config: ${messageOf(error)}`);
}

/**
 * MCO's checks beside parsing: the config in the version it was translated to, and file modes.
 *
 * @throws InvalidIgnition with MCO's words
 * @see MCO pkg/controller/common/helpers.go (7ff337a4), ValidateIgnition
 */
export function validateIgnition(config: IgnitionObject): void {
  const findings = validateV3(config, CURRENT_MINOR);
  if (isFatal(findings)) {
    throw fail('InvalidIgnition', `invalid ignition V3 config found: ${formatReport(findings)}`);
  }
  refuseSpecialModes(config);
}

/** @throws InvalidIgnition for a file with setuid, setgid or sticky bits */
export function refuseSpecialModes(config: IgnitionObject): void {
  for (const file of listOf(structOf(config['storage'])['files'])) {
    const mode = file['mode'] as number | undefined;
    if (mode === undefined || mode <= MODE_MAX) continue;
    const path = wordOf(file['path']);
    throw fail(
      'InvalidIgnition',
      `invalid mode 0${mode.toString(8)} for ${path}, cannot exceed 0${MODE_MAX.toString(8)}`,
    );
  }
}

/** Go's deep equality: an empty list differs from an absent one, key order does not count. */
export function ignitionEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => ignitionEqual(item, b[i]));
  }
  const [left, right] = [a as IgnitionObject, b as IgnitionObject];
  const keys = Object.keys(left).filter((key) => left[key] !== undefined);
  const others = Object.keys(right).filter((key) => right[key] !== undefined);
  return keys.length === others.length && keys.every((key) => ignitionEqual(left[key], right[key]));
}
