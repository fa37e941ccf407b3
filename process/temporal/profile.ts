/**
 * A profile of `temporal.toml`, the file of the Temporal CLI and its SDKs: the one place that reads
 * it, for every process and the CLI.
 */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { messageOf } from '../../core/errors';

/** By name of the setting; from flags, environment or the file of a machine. */
type Given = Readonly<Record<string, unknown>>;

type Environment = Readonly<Record<string, string | undefined>>;

export interface TemporalProfile {
  /** By name of the setting. */
  readonly values: Readonly<Record<string, string>>;
  /** Name of the setting → where it is in the file. */
  readonly origins: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

const NONE: TemporalProfile = { values: {}, origins: {}, problems: [] };
const DEFAULT_PROFILE = 'default';
const READ_BY_OTHERS = 0o004;

/** Key of a profile → setting. */
const SETTINGS: Readonly<Record<string, string>> = {
  address: 'temporalAddress',
  namespace: 'temporalNamespace',
  api_key: 'temporalApiKey',
  'tls.client_cert_path': 'temporalTlsCert',
  'tls.client_key_path': 'temporalTlsKey',
  'tls.server_ca_cert_path': 'temporalTlsCa',
  'tls.server_name': 'temporalTlsServerName',
};

/** A codec of the Temporal CLI: Slipway encodes and decodes by itself. */
const IGNORED = /^codec(\.|$)/;

/** Keys that the Temporal CLI knows and Slipway refuses → what to do instead. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [
    /^tls\.(client_cert|client_key|server_ca_cert)_data$/,
    'Slipway reads renewed files without a restart: put it into a file, and name that in the key that ends with _path',
  ],
  [
    /^tls\.disable_host_verification$/,
    'Slipway always checks the certificate of the frontend: name its authority in tls.server_ca_cert_path',
  ],
  [/^grpc_meta(\.|$)/, 'Slipway sends no headers of its own: leave it out'],
];

/**
 * The profile that `temporalProfile` names, or `default`, in the file that `temporalConfigFile`
 * names, or in that of this user. When neither is named, an address that is given stands alone: the
 * credentials of one server are never sent to another. What is given wins over the profile.
 */
export function readTemporalProfile(given: Given, environment: Environment): TemporalProfile {
  const profile = textOf(given, 'temporalProfile');
  const named = textOf(given, 'temporalConfigFile');
  const isNamed = profile !== undefined || named !== undefined;
  if (!isNamed && given['temporalAddress'] !== undefined) return NONE;
  const file = named ?? defaultFile(environment);
  if (file === undefined)
    return isNamed ? problem('temporalProfile: there is no HOME in which to look for it') : NONE;
  try {
    const text = readFileSync(file, 'utf8');
    const found = fromFile(file, text, profile);
    return without(openSecret(file, found, given), given);
  } catch (error) {
    if (!isNamed && isMissing(error)) return NONE;
    return problem(`${file}: cannot be read (${messageOf(error)})`);
  }
}

function textOf(given: Given, name: string): string | undefined {
  const value = given[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** As the Temporal CLI finds it. */
function defaultFile({ XDG_CONFIG_HOME, HOME }: Environment): string | undefined {
  const home = HOME === undefined || HOME === '' ? undefined : join(HOME, '.config');
  const directory = XDG_CONFIG_HOME?.startsWith('/') === true ? XDG_CONFIG_HOME : home;
  return directory === undefined ? undefined : join(directory, 'temporalio', 'temporal.toml');
}

function isMissing(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : '';
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES';
}

function fromFile(file: string, text: string, wanted: string | undefined): TemporalProfile {
  let profiles: unknown;
  try {
    profiles = parse(text)['profile'] ?? {};
  } catch (error) {
    // Its other lines quote the file, which may have an API key.
    return problem(`${file}: ${messageOf(error).split('\n')[0] ?? ''}`);
  }
  if (!isTable(profiles)) return problem(`${file}: profile must be a table: [profile.NAME]`);
  const name = wanted ?? DEFAULT_PROFILE;
  const profile = profiles[name];
  if (profile === undefined && wanted === undefined) return NONE;
  if (isTable(profile)) return fromProfile(file, name, profile);
  const names = Object.keys(profiles).join(', ') || 'none';
  return problem(`${file}: there is no [profile.${name}]; there are: ${names}`);
}

function fromProfile(file: string, name: string, profile: Table): TemporalProfile {
  const values: Record<string, string> = {};
  const origins: Record<string, string> = {};
  const problems: string[] = [];
  const { tls, ...rest } = profile;
  const isOff = isTable(tls) && tls['disabled'] === true;
  for (const [key, value] of entriesOf(isOff ? rest : profile)) {
    const where = `${file}: profile.${name}.${key}`;
    const setting = SETTINGS[key];
    if (setting !== undefined && typeof value === 'string' && value !== '') {
      values[setting] = value;
      origins[setting] = where;
    } else {
      problems.push(...whyNot(where, key, value));
    }
  }
  if (isOff && values['temporalApiKey'] !== undefined)
    problems.push(`${file}: profile.${name}.tls.disabled: an API key is sent only with TLS`);
  if (isTable(tls) && !isOff && !Object.keys(values).some(turnsTlsOn))
    problems.push(
      `${file}: profile.${name}.tls: give server_ca_cert_path or server_name, or leave [tls] out`,
    );
  return { values, origins, problems };
}

function turnsTlsOn(setting: string): boolean {
  return setting.startsWith('temporalTls') || setting === 'temporalApiKey';
}

function whyNot(where: string, key: string, value: unknown): readonly string[] {
  if (value === '' || value === false || IGNORED.test(key) || key === 'tls.disabled') return [];
  if (SETTINGS[key] !== undefined) return [`${where}: expected a text`];
  const advice = REFUSED.find(([pattern]) => pattern.test(key))?.[1];
  return [`${where}: ${advice ?? 'no such key; it has ' + Object.keys(SETTINGS).join(', ')}`];
}

/** With the keys of its tables. */
function entriesOf(table: Table): readonly (readonly [string, unknown])[] {
  return Object.entries(table).flatMap(([key, value]) =>
    isTable(value)
      ? Object.entries(value).map(([inner, one]) => [`${key}.${inner}`, one] as const)
      : [[key, value] as const],
  );
}

/** Unless another key is used. */
function openSecret(file: string, found: TemporalProfile, given: Given): TemporalProfile {
  const isUsed = found.values['temporalApiKey'] !== undefined && !hasKey(given);
  if (!isUsed || (statSync(file).mode & READ_BY_OTHERS) === 0) return found;
  const { temporalApiKey } = found.origins;
  const advice =
    'everybody may read the file; run chmod o-r on it, or name a file with the key in TEMPORAL_API_KEY_FILE';
  return { ...found, problems: [...found.problems, `${temporalApiKey}: ${advice}`] };
}

/** What is given wins. A key and a file with one are the same thing. */
function without(found: TemporalProfile, given: Given): TemporalProfile {
  const values = Object.fromEntries(
    Object.entries(found.values).filter(
      ([setting]) =>
        given[setting] === undefined && !(setting === 'temporalApiKey' && hasKey(given)),
    ),
  );
  return { ...found, values };
}

function hasKey(given: Given): boolean {
  return given['temporalApiKey'] !== undefined || given['temporalApiKeyFile'] !== undefined;
}

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function problem(text: string): TemporalProfile {
  return { ...NONE, problems: [text] };
}
