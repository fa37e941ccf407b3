/**
 * Reads a config of specification 2.0, 2.1 or 2.2 as 2.2.
 *
 * @see MCO vendor/github.com/coreos/ignition/config/v2_2/config.go (7ff337a4)
 */

import { decodeStruct, TypeMismatch } from './decode';
import { JsonSource } from './json-source';
import type { Refusal } from './parse-v3';
import type { RawIgnition } from './raw';
import { listOf, structOf } from './rules';
import { wordOf, type IgnitionObject, type StructSchema } from './schema';
import { schemaV2, type MinorV2 } from './schema-v2';
import { isBefore, parseVersion, sameVersion } from './semver';
import { formatReportV2, validateV2 } from './validate-v2';

type ParsedV2 = { readonly config: IgnitionObject } | Refusal;

const UNKNOWN: Refusal = { reason: 'unknown version', report: '', errors: [] };
const MINORS: readonly MinorV2[] = [2, 1, 0];

/**
 * Uses the newest version that the document fits. As in Ignition, a document that fits none counts
 * as one of an unknown version.
 */
export function parseV2(raw: RawIgnition): ParsedV2 {
  for (const minor of MINORS) {
    const config = decode(raw.value, schemaV2(minor));
    const version = parseVersion(wordOf(structOf(config?.['ignition'])['version']));
    if (config === undefined || version === undefined) continue;
    if (sameVersion(version, { major: 2, minor })) return validated(raw, config, minor);
    if (!isBefore(version, { major: 2, minor })) return UNKNOWN;
  }
  return UNKNOWN;
}

function validated(raw: RawIgnition, config: IgnitionObject, minor: MinorV2): ParsedV2 {
  const findings = validateV2(config, schemaV2(minor), { minor });
  const errors = findings
    .filter((finding) => finding.kind === 'error')
    .map(({ message }) => ({ severity: 'error', path: [], message }) as const);
  if (errors.length === 0) return { config: toCurrent(config, minor) };
  const source = new JsonSource(raw.text());
  const entries = validateV2(config, schemaV2(minor), { minor }, source);
  return { reason: 'invalid', report: formatReportV2(entries, source), errors };
}

function decode(value: unknown, schema: StructSchema): IgnitionObject | undefined {
  try {
    return decodeStruct(value, schema, 'types.Config');
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    return undefined;
  }
}

/**
 * From 2.0 and 2.1 to 2.2. Modes, and owners in 2.0, were plain numbers there, so absent ones
 * become 0.
 */
function toCurrent(config: IgnitionObject, minor: MinorV2): IgnitionObject {
  const ignition = { ...structOf(config['ignition']), version: '2.2.0' };
  if (minor === 2) return config;
  const storage = structOf(config['storage']);
  const owners = minor === 0 ? { user: { id: 0 }, group: { id: 0 } } : {};
  const withDefaults = (list: unknown): readonly IgnitionObject[] =>
    listOf(list).map((node) => ({ mode: 0, ...owners, ...node }));
  return {
    ...config,
    ignition,
    storage: {
      ...storage,
      files: withDefaults(storage['files']),
      directories: withDefaults(storage['directories']),
    },
  };
}
