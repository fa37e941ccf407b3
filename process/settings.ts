/**
 * Flags precede the environment, which precedes a profile of `temporal.toml`, which precedes the
 * defaults. All problems are reported together.
 */

import { z } from 'zod';
import { TEMPORAL_NAMESPACE } from '../core/names';
import { LOG_LEVELS } from './logging';
import { readTemporalProfile } from './temporal/profile';

/** Values by setting name, from flags or environment variables. */
export type Fragment = Readonly<Record<string, unknown>>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The process prints the message and exits with 2. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  constructor(readonly problems: readonly string[]) {
    super(`settings cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const port = z.coerce.number().int().min(0).max(65_535);

/** As a text also `1`, `yes` and `on`, and their opposites, in small or capital letters. */
export const BooleanSetting = z.union([z.boolean(), z.stringbool()]);

/** Files are PEM, except that of the API key. A profile gives what is not given otherwise. */
export const TemporalSettings = z.object({
  temporalProfile: z.string().min(1).optional(),
  temporalConfigFile: z.string().min(1).optional(),
  temporalAddress: z.string().min(1).default('127.0.0.1:7233'),
  temporalNamespace: z.string().min(1).default(TEMPORAL_NAMESPACE),
  temporalTls: BooleanSetting.optional(),
  temporalTlsCa: z.string().optional(),
  temporalTlsCert: z.string().optional(),
  temporalTlsKey: z.string().optional(),
  temporalTlsServerName: z.string().optional(),
  temporalApiKey: z.string().optional(),
  temporalApiKeyFile: z.string().min(1).optional(),
});
export type TemporalSettings = z.infer<typeof TemporalSettings>;

/** Default: the pod's service account, then `~/.kube/config`. */
export const KubeFileSettings = z.object({
  kubeconfig: z.string().min(1).optional(),
  context: z.string().min(1).optional(),
});

export const ProcessSettings = z.object({
  logLevel: z.enum(LOG_LEVELS).default('info'),
  /** Port 0 = any free port. */
  metricsHost: z.string().min(1).default('127.0.0.1'),
  metricsPort: port.default(0),
});

/** Settings that need each other. */
const PAIRS = [['temporalTlsCert', 'temporalTlsKey']] as const;

/** Settings that exclude each other. */
const EITHER = [['temporalApiKey', 'temporalApiKeyFile']] as const;

const VARIABLES: Readonly<Record<string, string>> = {
  temporalProfile: 'TEMPORAL_PROFILE',
  temporalConfigFile: 'TEMPORAL_CONFIG_FILE',
  temporalAddress: 'TEMPORAL_ADDRESS',
  temporalNamespace: 'TEMPORAL_NAMESPACE',
  temporalTls: 'TEMPORAL_TLS',
  temporalTlsCa: 'TEMPORAL_TLS_CA',
  temporalTlsCert: 'TEMPORAL_TLS_CERT',
  temporalTlsKey: 'TEMPORAL_TLS_KEY',
  temporalTlsServerName: 'TEMPORAL_TLS_SERVER_NAME',
  temporalApiKey: 'TEMPORAL_API_KEY',
  temporalApiKeyFile: 'TEMPORAL_API_KEY_FILE',
  kubeconfig: 'KUBECONFIG',
  context: 'SLIPWAY_CONTEXT',
};

/** `logLevel` → `SLIPWAY_LOG_LEVEL`, unless it has its own. */
export function variableOf(setting: string): string {
  return (
    VARIABLES[setting] ??
    `SLIPWAY_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
  );
}

/**
 * @param flags - by setting name; undefined members count as absent
 * @throws SettingsError naming every invalid setting and its source
 */
export function readSettings<S extends z.ZodObject>(
  schema: S,
  flags: Fragment,
  environment: Environment,
): Readonly<z.infer<S>> {
  const merged: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  for (const setting of Object.keys(schema.shape)) {
    const variable = variableOf(setting);
    const fromEnvironment = environment[variable];
    if (flags[setting] !== undefined) {
      merged[setting] = flags[setting];
      origins[setting] = flagOf(setting);
    } else if (fromEnvironment !== undefined && fromEnvironment !== '') {
      merged[setting] = fromEnvironment;
      origins[setting] = variable;
    }
  }
  const problems =
    'temporalProfile' in schema.shape ? addProfile(merged, origins, environment) : [];
  const alone = PAIRS.flatMap(([a, b]) => {
    if ((merged[a] === undefined) === (merged[b] === undefined)) return [];
    const [given, missing] = merged[a] === undefined ? [b, a] : [a, b];
    return [`${origins[given] ?? given}: it needs ${variableOf(missing)} beside it`];
  });
  const twice = EITHER.flatMap(([a, b]) =>
    merged[a] === undefined || merged[b] === undefined
      ? []
      : [`${origins[a] ?? a}: ${origins[b] ?? b} is there, too; leave one of them out`],
  );
  const result = schema.safeParse(merged);
  const together = [...alone, ...twice, ...plainKey(result.data ?? {}, origins)];
  if (result.success && problems.length + together.length === 0) return Object.freeze(result.data);
  const issues = (result.error?.issues ?? []).map((issue) => {
    const setting = issue.path.map(String).join('.');
    const given = merged[setting];
    // A refinement reports an absent value itself.
    if (given === undefined && issue.code === 'invalid_type') {
      return `${setting}: is missing; set ${flagOf(setting)} or ${variableOf(setting)}`;
    }
    const isNoNumber = issue.code === 'invalid_type' && Number.isNaN(Number(given));
    const message = isNoNumber ? `expected a number, not ${JSON.stringify(given)}` : issue.message;
    return `${origins[setting] ?? setting}: ${message}`;
  });
  throw new SettingsError([...problems, ...issues, ...together]);
}

function plainKey(data: Fragment, origins: Readonly<Record<string, string>>): readonly string[] {
  const key = EITHER.flat().find((setting) => data[setting] !== undefined);
  if (data['temporalTls'] !== false || key === undefined) return [];
  return [`${origins['temporalTls']}: an API key (${origins[key]}) is sent only with TLS`];
}

/** @returns what is wrong with the profile */
function addProfile(
  merged: Record<string, unknown>,
  origins: Record<string, string>,
  environment: Environment,
): readonly string[] {
  const profile = readTemporalProfile(merged, environment);
  for (const [setting, value] of Object.entries(profile.values)) {
    merged[setting] = value;
    origins[setting] = profile.origins[setting] ?? setting;
  }
  return profile.problems;
}

/** `logLevel` → `--log-level`. */
function flagOf(setting: string): string {
  return `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
