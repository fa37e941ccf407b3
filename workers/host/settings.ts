/**
 * Settings of the host worker, read without a schema library, which would take most of its memory.
 * Values are texts (flags, environment), or numbers and booleans (an embedding process).
 */

import {
  DEFAULT_DURATIONS,
  FAILURE_POINTS,
  type FailurePoint,
  type SimulatedDurations,
  type SimulatedFailure,
} from '../../adapters/simulation';
import { TEMPORAL_NAMESPACE } from '../../core/names';
import { type ReadConfigFile, readConfigFile } from '../../process/host/config-file';
import { HOST_WORKER_FLAGS, unknownSettings } from './flags';
import {
  type MachineSettings,
  readMachine,
  readOrderKeysFile,
  readSingle,
  type SingleHostSettings,
} from './machine-settings';
import type { HostProcessSettings, HostWorkerOptions, NodeCredentials } from './setting-types';
import { readTemporalProfile } from '../../process/temporal/profile';
import { SettingsReader } from '../../process/host/settings-reader';
import { LOG_LEVELS } from '../../process/logging';
import type { TemporalPlace } from '../../process/temporal/connection-options';

export interface SimulatedHostsSettings extends HostProcessSettings {
  readonly kind: 'simulated';
  readonly nodes: readonly string[];
  /** JSON: public keys of the cluster, by which they know their orders. */
  readonly orderKeysFile: string;
  /** Holds a root per machine, named after the node. */
  readonly baseDirectory: string;
  readonly credentials: (node: string) => NodeCredentials;
  /** For the simulated kubelets; absent: reboots do not show on the Node. */
  readonly apiServer?: string;
  /** Absent: as for the host endpoint. */
  readonly apiServerAuthorityFile?: string;
  readonly durations: SimulatedDurations;
  readonly failures: readonly SimulatedFailure[];
  /** Machines without a config get this one at their first boot. */
  readonly firstBoot?: string;
}

export type { SingleHostSettings } from './machine-settings';
export type * from './setting-types';

export type HostWorkerSettings = SingleHostSettings | SimulatedHostsSettings;

/**
 * Flags precede the environment, which precedes the file of the machine, which precedes a profile of
 * `temporal.toml`. `simulate` (how many) or `nodes` (which)
 * mean simulated machines.
 *
 * @throws an Error that lists every problem by name
 */
export function readHostSettings(
  flags: HostWorkerOptions,
  environment: Readonly<Record<string, string | undefined>> = {},
): HostWorkerSettings {
  const given = merged(flags, environment);
  const isSimulated = given['simulate'] !== undefined || given['nodes'] !== undefined;
  const reader = withProfile(
    isSimulated ? { values: given, problems: [] } : withFile(given),
    environment,
  );
  const common: HostProcessSettings = {
    ...readTemporalPlace(reader),
    temporalNamespace: reader.text('temporalNamespace') ?? TEMPORAL_NAMESPACE,
    serverUrl: reader.url('serverUrl', true) ?? '',
    logLevel: reader.oneOf('logLevel', LOG_LEVELS, 'info'),
    ...readMetrics(reader),
  };
  const settings = isSimulated ? readSimulated(reader, common) : readSingle(reader, common);
  reader.refuseProblems();
  return Object.freeze(settings);
}

/** @throws an Error that lists every problem by name */
export function readMachineSettings(
  flags: HostWorkerOptions,
  environment: Readonly<Record<string, string | undefined>> = {},
): MachineSettings & Pick<HostProcessSettings, 'logLevel'> {
  const { values, problems } = withFile(merged(flags, environment));
  const reader = new SettingsReader(values);
  reader.problems.push(...problems);
  const settings = {
    ...readMachine(reader),
    logLevel: reader.oneOf('logLevel', LOG_LEVELS, 'info'),
  };
  reader.refuseProblems();
  return settings;
}

interface Given {
  readonly values: HostWorkerOptions;
  readonly problems: readonly string[];
}

function withFile(given: HostWorkerOptions): Given {
  const file = readConfigFile(given['configFile'] as string | undefined);
  return {
    values: { ...file.values, ...given },
    problems: [...file.problems, ...unknownSettings(file.values), ...openSecretsIn(file)],
  };
}

const NO_PROFILE = { values: {}, problems: [] };

function withProfile(
  { values, problems }: Given,
  environment: Readonly<Record<string, string | undefined>>,
): SettingsReader {
  // A profile that nobody names leads to Temporal itself.
  const isNamed =
    values['temporalProfile'] !== undefined || values['temporalConfigFile'] !== undefined;
  const isMeant = isNamed || values['gatewayAddress'] === undefined;
  const profile = isMeant ? readTemporalProfile(values, environment) : NO_PROFILE;
  const reader = new SettingsReader({ ...values, ...profile.values });
  reader.problems.push(...problems, ...profile.problems);
  return reader;
}

/** Empty variables count as absent. */
function merged(
  flags: HostWorkerOptions,
  environment: Readonly<Record<string, string | undefined>>,
): HostWorkerOptions {
  const found: Record<string, unknown> = {};
  for (const { setting, variable, repeated } of HOST_WORKER_FLAGS) {
    const given = flags[setting];
    const isGiven = given !== undefined && !(repeated === true && isEmptyList(given));
    const value = isGiven ? given : environment[variable];
    if (value !== undefined && value !== '') found[setting] = value;
  }
  return found;
}

function openSecretsIn({ values, openFile }: ReadConfigFile): readonly string[] {
  if (openFile === undefined || values['temporalApiKey'] === undefined) return [];
  return [
    `temporalApiKey: everybody may read ${openFile}; put the key into a file of its own with mode 0600, ` +
      'and name that in temporalApiKeyFile',
  ];
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function readMetrics(reader: SettingsReader): Pick<HostProcessSettings, 'metrics'> {
  const port = reader.number('metricsPort', -1);
  return port < 0 ? {} : { metrics: { host: reader.text('metricsHost') ?? '127.0.0.1', port } };
}

function readSimulated(
  reader: SettingsReader,
  common: HostProcessSettings,
): SimulatedHostsSettings {
  const directory = reader.required(
    'credentialsDirectory',
    'it has <node>/tls.crt and <node>/tls.key for each node',
  );
  const authorityFile = reader.file('authorityFile', `${directory}/ca.crt`);
  const apiServer = reader.url('apiServer', false);
  const apiServerAuthorityFile = reader.text('apiServerAuthorityFile');
  const firstBoot = reader.text('firstBoot');
  return {
    ...common,
    kind: 'simulated',
    nodes: readNodes(reader),
    orderKeysFile: readOrderKeysFile(reader),
    baseDirectory: reader.required('baseDirectory', 'where the roots of the machines go'),
    credentials: (node) => ({
      certificateFile: `${directory}/${node}/tls.crt`,
      keyFile: `${directory}/${node}/tls.key`,
      authorityFile,
    }),
    ...(apiServer === undefined ? {} : { apiServer }),
    ...(apiServerAuthorityFile === undefined ? {} : { apiServerAuthorityFile }),
    durations: {
      stageSeconds: reader.number('stageSeconds', DEFAULT_DURATIONS.stageSeconds),
      applySeconds: reader.number('applySeconds', DEFAULT_DURATIONS.applySeconds),
      serviceSeconds: reader.number('serviceSeconds', DEFAULT_DURATIONS.serviceSeconds),
      rebootSeconds: reader.number('rebootSeconds', DEFAULT_DURATIONS.rebootSeconds),
      jitter: reader.number('jitter', DEFAULT_DURATIONS.jitter),
      seed: reader.number('seed', DEFAULT_DURATIONS.seed),
    },
    failures: reader.list('fail').flatMap((text) => readFailure(reader, text)),
    ...(firstBoot === undefined ? {} : { firstBoot }),
  };
}

/** A list of names, or a prefix and a count. */
function readNodes(reader: SettingsReader): readonly string[] {
  const listed = reader
    .list('nodes')
    .flatMap((part) => part.split(','))
    .filter((name) => name !== '');
  if (listed.length > 0) return [...new Set(listed)];
  const count = reader.number('simulate', 0, 1);
  const prefix = reader.text('nodePrefix') ?? 'worker-';
  return Array.from({ length: count }, (_none, index) => `${prefix}${index + 1}`);
}

/** `node=worker-3,at=verify,times=1`. */
function readFailure(reader: SettingsReader, text: string): readonly SimulatedFailure[] {
  const parts = new Map(
    text.split(',').map((part): [string, string] => {
      const [key = '', value = ''] = part.split('=', 2);
      return [key.trim(), value.trim()];
    }),
  );
  const node = parts.get('node') ?? '';
  const at = FAILURE_POINTS.find((point: FailurePoint) => point === parts.get('at'));
  const times = Number(parts.get('times') ?? '1');
  const known = ['node', 'at', 'times'];
  const strange = [...parts.keys()].filter((key) => !known.includes(key));
  if (
    node !== '' &&
    at !== undefined &&
    Number.isInteger(times) &&
    times > 0 &&
    strange.length === 0
  ) {
    return [{ node, at, times }];
  }
  reader.problems.push(
    `fail: expected node=NAME,at=${FAILURE_POINTS.join('|')},times=N, not ${JSON.stringify(text)}`,
  );
  return [];
}

const OF_TEMPORAL_ITSELF = [
  'temporalAddress',
  'temporalTlsCa',
  'temporalTlsCert',
  'temporalTlsKey',
  'temporalTlsServerName',
  'temporalApiKey',
  'temporalApiKeyFile',
];

/** The gateway, with the certificate of the kubelet, or Temporal itself. */
function readTemporalPlace(
  reader: SettingsReader,
): TemporalPlace & Pick<HostProcessSettings, 'isDirect'> {
  const gateway = reader.text('gatewayAddress');
  if (gateway === undefined) {
    const temporalAddress = reader.text('temporalAddress') ?? '127.0.0.1:7233';
    return { temporalAddress, ...readTemporalIdentity(reader), isDirect: true };
  }
  for (const name of OF_TEMPORAL_ITSELF.filter((each) => reader.text(each) !== undefined)) {
    reader.problems.push(
      `${name}: gatewayAddress is there, and the gateway takes the certificate of the kubelet; leave it out`,
    );
  }
  return { temporalAddress: gateway, isDirect: false };
}

/** The files are read at each connection; here they must exist. */
function readTemporalIdentity(reader: SettingsReader): Partial<TemporalPlace> {
  const temporalTlsServerName = reader.text('temporalTlsServerName');
  const temporalApiKey = reader.text('temporalApiKey');
  const files = [
    ['temporalTlsCa', reader.readable('temporalTlsCa')],
    ['temporalTlsCert', reader.readable('temporalTlsCert')],
    ['temporalTlsKey', reader.readable('temporalTlsKey')],
    ['temporalApiKeyFile', reader.readable('temporalApiKeyFile')],
  ] as const;
  const found: Partial<TemporalPlace> = {
    ...Object.fromEntries(files.filter(([, file]) => file !== undefined)),
    ...(temporalTlsServerName === undefined ? {} : { temporalTlsServerName }),
    ...(temporalApiKey === undefined ? {} : { temporalApiKey }),
  };
  if ((found.temporalTlsCert === undefined) !== (found.temporalTlsKey === undefined)) {
    reader.problems.push('temporalTlsCert: a certificate and its key belong together');
  }
  if (found.temporalApiKey !== undefined && found.temporalApiKeyFile !== undefined) {
    reader.problems.push('temporalApiKey: temporalApiKeyFile is there, too; leave one of them out');
  }
  return found;
}
