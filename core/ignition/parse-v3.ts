/**
 * Reads a config of specification 3.0 to 3.5 as 3.5.
 *
 * @see MCO vendor/github.com/coreos/ignition/v2/config/v3_5/config.go (7ff337a4),
 * ParseCompatibleVersion
 */

import { decodeStruct, TypeMismatch } from './decode';
import { JsonSource } from './json-source';
import { errorsOf, formatReport, isFatal, type Finding } from './report';
import { plainText, struct, without, wordOf, type IgnitionObject } from './schema';
import { schemaV3, type Minor } from './schema-v3';
import { parseVersion, sameVersion } from './semver';
import { unusedKeys, validateV3 } from './validate';
import type { RawIgnition } from './raw';

/** `reason` is Ignition's error, `report` its report. */
export interface Refusal {
  readonly reason: 'invalid' | 'invalid version' | 'unknown version';
  readonly report: string;
  /** The errors one by one, with their places. */
  readonly errors: readonly Finding[];
  /** The config when only rules are broken, for further checks. */
  readonly decoded?: IgnitionObject;
}

type Parsed = { readonly config: IgnitionObject; readonly minor: Minor } | Refusal;

const STUB_TYPE = 'struct { Version string }';
/** Reads the version first, with Go's field names in error texts. */
const STUB = struct('versionStub', [
  {
    ...plainText('Ignition'),
    kind: 'struct',
    goType: STUB_TYPE,
    struct: struct('', [plainText('Version')]),
  },
]);

/** The config as 3.5 with its original minor version, or its refusal. */
export function parseV3(raw: RawIgnition): Parsed {
  try {
    const minor = minorOf(raw);
    if (typeof minor !== 'number') return minor;
    const config = decodeStruct(raw.value, schemaV3(minor), 'types.Config');
    const findings = validateV3(config, minor);
    if (!isFatal(findings)) return { config: translateToCurrent(config, minor), minor };
    const all = [...findings, ...unusedKeys(raw.value, minor)];
    const report = formatReport(all, new JsonSource(raw.text()));
    return { reason: 'invalid', report, errors: errorsOf(findings), decoded: config };
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    const at = new JsonSource(raw.text()).describeRefused(error.path);
    const finding = { severity: 'error', path: error.path, message: error.message } as const;
    return { reason: 'invalid', report: `error at ${at}: ${error.message}\n`, errors: [finding] };
  }
}

function minorOf(raw: RawIgnition): Minor | Refusal {
  const stub = decodeStruct(raw.value, STUB, 'util.versionStub');
  const text = (stub['Ignition'] as IgnitionObject | undefined)?.['Version'];
  const version = parseVersion(wordOf(text));
  if (version === undefined) return { reason: 'invalid version', report: '', errors: [] };
  const known = version.major === 3 && version.minor <= 5;
  if (!known || !sameVersion(version, { major: 3, minor: version.minor })) {
    return { reason: 'unknown version', report: '', errors: [] };
  }
  return version.minor as Minor;
}

/** From any 3.x to 3.5: the version, and the one field that the translation of 3.4 drops. */
function translateToCurrent(config: IgnitionObject, minor: Minor): IgnitionObject {
  if (minor === 5) return config;
  const ignition = config['ignition'] as IgnitionObject;
  const current = { ...config, ignition: { ...ignition, version: '3.5.0' } };
  return minor === 4 ? withoutAdvertisements(current) : current;
}

/** Ignition's translator drops `tang.advertisement`; rendered names must be those of MCO. */
function withoutAdvertisements(config: IgnitionObject): IgnitionObject {
  const storage = config['storage'] as IgnitionObject | undefined;
  const luks = storage?.['luks'] as readonly IgnitionObject[] | undefined;
  if (luks === undefined) return config;
  const translated = luks.map((device) => {
    const clevis = device['clevis'] as IgnitionObject | undefined;
    const tang = clevis?.['tang'] as readonly IgnitionObject[] | undefined;
    if (tang === undefined) return device;
    const servers = tang.map((server) => without(server, 'advertisement'));
    return { ...device, clevis: { ...clevis, tang: servers } };
  });
  return { ...config, storage: { ...storage, luks: translated } };
}
