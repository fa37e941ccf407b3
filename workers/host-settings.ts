/**
 * Settings of the host worker, read by hand: a schema library would be the largest part of its memory.
 * Values come as text (flags, environment) or as numbers and booleans (an embedding process).
 */

import { readFileSync } from 'node:fs';
import type { NativeConnectionOptions } from '@temporalio/worker';
import {
  DEFAULT_DURATIONS,
  FAILURE_POINTS,
  type FailurePoint,
  type SimulatedDurations,
  type SimulatedFailure,
} from '../adapters/simulation';
import { TEMPORAL_NAMESPACE } from '../core/names';
import { HOST_WORKER_FLAGS } from './host-flags';
import { LOG_LEVELS, type LogSettings } from './logging';

/** PEM files of one node's identity: its kubelet client certificate. */
export interface NodeCredentials {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Authority of the servers that the host speaks to. */
  readonly authorityFile: string;
}

type TemporalTls = NonNullable<NativeConnectionOptions['tls']>;

/** How to reach Temporal. */
export interface HostTemporalSettings {
  readonly temporalAddress: string;
  readonly temporalNamespace: string;
  readonly temporalTls?: TemporalTls;
}

/** What every host worker has. */
export interface HostProcessSettings extends HostTemporalSettings {
  /** Base URL of the host endpoint. */
  readonly serverUrl: string;
  readonly logLevel: LogSettings['level'];
  /** Where health and metrics are served; absent = nowhere. */
  readonly metrics?: { readonly host: string; readonly port: number };
}

/** One real machine. */
export interface SingleHostSettings extends HostProcessSettings {
  readonly kind: 'single';
  readonly node: string;
  /** Directory that is the machine's `/`. */
  readonly root: string;
  readonly driver: 'none';
  /** Without Temporal for this long after a reboot into an update, the machine goes back by itself. */
  readonly reconnectSeconds: number;
  readonly credentials: NodeCredentials;
}

/** Many simulated machines in one process. */
export interface SimulatedHostsSettings extends HostProcessSettings {
  readonly kind: 'simulated';
  readonly nodes: readonly string[];
  /** Each machine's root is a directory in it, named after the node. */
  readonly baseDirectory: string;
  readonly credentials: (node: string) => NodeCredentials;
  /** Base URL of the API server, for the simulated kubelets; absent = reboots do not show there. */
  readonly apiServer?: string;
  /** Authority of the API server, when it is not the one of the host endpoint. */
  readonly apiServerAuthorityFile?: string;
  readonly durations: SimulatedDurations;
  readonly failures: readonly SimulatedFailure[];
  /** Machines without a config get this one at their first boot. */
  readonly firstBoot?: string;
}

export type HostWorkerSettings = SingleHostSettings | SimulatedHostsSettings;

/** Settings as they are given, by name: `serverUrl` is `--server-url` and `SLIPWAY_SERVER_URL`. */
export type HostWorkerOptions = Readonly<Record<string, unknown>>;

/** Reads values one by one and remembers what is wrong with them. */
class Reader {
  readonly problems: string[] = [];
  constructor(private readonly options: HostWorkerOptions) {}

  text(name: string): string | undefined {
    const value = this.options[name];
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'string') return value;
    this.problems.push(`${name}: expected a text`);
    return undefined;
  }

  required(name: string, hint: string): string {
    const value = this.text(name);
    if (value === undefined && !this.problems.some((problem) => problem.startsWith(`${name}:`))) {
      this.problems.push(`${name}: is missing; ${hint}`);
    }
    return value ?? '';
  }

  /** @param least - smallest value that makes sense */
  number(name: string, fallback: number, least = 0): number {
    const value = this.options[name];
    if (value === undefined || value === '') return fallback;
    const number = typeof value === 'number' ? value : Number(value);
    if (Number.isFinite(number) && number >= least) return number;
    this.problems.push(
      `${name}: expected a number of at least ${least}, not ${JSON.stringify(value)}`,
    );
    return fallback;
  }

  /** One text with commas, or a list of texts. */
  list(name: string): readonly string[] {
    const value = this.options[name];
    if (value === undefined) return [];
    const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
    return parts.flatMap((part) => String(part).split(/[\s]+/)).filter((part) => part !== '');
  }

  url(name: string, required: boolean): string | undefined {
    const value = required
      ? this.required(name, 'for example https://slipway.example:22624')
      : this.text(name);
    if (value === undefined || value === '') return undefined;
    if (/^https:\/\/[^/]+/.test(value) && URL.canParse(value)) return value;
    this.problems.push(`${name}: expected an https URL, not ${JSON.stringify(value)}`);
    return undefined;
  }

  oneOf<Value extends string>(name: string, values: readonly Value[], fallback: Value): Value {
    const value = this.text(name);
    if (value === undefined) return fallback;
    const found = values.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    this.problems.push(
      `${name}: expected one of ${values.join(', ')}, not ${JSON.stringify(value)}`,
    );
    return fallback;
  }

  /** A file that must be there. */
  file(name: string, fallback: string): string {
    const path = this.text(name) ?? fallback;
    this.read(name, path);
    return path;
  }

  pem(name: string): Buffer | undefined {
    const file = this.text(name);
    return file === undefined ? undefined : this.read(name, file);
  }

  private read(name: string, file: string): Buffer | undefined {
    try {
      return readFileSync(file);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
      this.problems.push(`${name}: cannot read ${file} (${code})`);
      return undefined;
    }
  }
}

/**
 * Checks the settings of a host worker; flags go before the environment. With `simulate` (how many) or
 * `nodes` (which) it is a process of simulated machines, else this machine.
 *
 * @throws an Error that lists every problem by name
 */
export function readHostSettings(
  flags: HostWorkerOptions,
  environment: Readonly<Record<string, string | undefined>> = {},
): HostWorkerSettings {
  const options = merged(flags, environment);
  const reader = new Reader(options);
  const common: HostProcessSettings = {
    temporalAddress: reader.text('temporalAddress') ?? '127.0.0.1:7233',
    temporalNamespace: reader.text('temporalNamespace') ?? TEMPORAL_NAMESPACE,
    ...readTemporalTls(reader),
    serverUrl: reader.url('serverUrl', true) ?? '',
    logLevel: reader.oneOf('logLevel', LOG_LEVELS, 'info'),
    ...readMetrics(reader),
  };
  const isSimulated = options['simulate'] !== undefined || options['nodes'] !== undefined;
  const settings = isSimulated ? readSimulated(reader, common) : readSingle(reader, common);
  if (reader.problems.length > 0) {
    throw Object.assign(new Error(`settings cannot be used:\n  ${reader.problems.join('\n  ')}`), {
      name: 'SettingsError',
      problems: reader.problems,
    });
  }
  return Object.freeze(settings);
}

/** Empty variables and flags that were not given count as absent. */
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

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function readMetrics(reader: Reader): Pick<HostProcessSettings, 'metrics'> {
  const port = reader.number('metricsPort', -1);
  return port < 0 ? {} : { metrics: { host: reader.text('metricsHost') ?? '127.0.0.1', port } };
}

function readSingle(reader: Reader, common: HostProcessSettings): SingleHostSettings {
  return {
    ...common,
    kind: 'single',
    node: reader.required('node', 'the name of the Node object of this machine'),
    root: reader.text('root') ?? '/',
    driver: reader.oneOf('driver', ['none'], 'none'),
    reconnectSeconds: reader.number('reconnectSeconds', 600, 1),
    credentials: {
      certificateFile:
        reader.text('certificateFile') ?? '/var/lib/kubelet/pki/kubelet-client-current.pem',
      keyFile: reader.text('keyFile') ?? '/var/lib/kubelet/pki/kubelet-client-current.pem',
      authorityFile: reader.file('authorityFile', '/etc/kubernetes/ca.crt'),
    },
  };
}

function readSimulated(reader: Reader, common: HostProcessSettings): SimulatedHostsSettings {
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
      rebootSeconds: reader.number('rebootSeconds', DEFAULT_DURATIONS.rebootSeconds),
      jitter: reader.number('jitter', DEFAULT_DURATIONS.jitter),
      seed: reader.number('seed', DEFAULT_DURATIONS.seed),
    },
    failures: reader.list('fail').flatMap((text) => readFailure(reader, text)),
    ...(firstBoot === undefined ? {} : { firstBoot }),
  };
}

/** Names by list, or counted up from 1 behind a prefix. */
function readNodes(reader: Reader): readonly string[] {
  const listed = reader
    .list('nodes')
    .flatMap((part) => part.split(','))
    .filter((name) => name !== '');
  if (listed.length > 0) return [...new Set(listed)];
  const count = reader.number('simulate', 0, 1);
  const prefix = reader.text('nodePrefix') ?? 'worker-';
  return Array.from({ length: count }, (_none, index) => `${prefix}${index + 1}`);
}

/** `node=worker-3,at=verify,times=1`; `times` may be missing. */
function readFailure(reader: Reader, text: string): readonly SimulatedFailure[] {
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

function readTemporalTls(reader: Reader): { readonly temporalTls?: TemporalTls } {
  const ca = reader.pem('temporalTlsCa');
  const crt = reader.pem('temporalTlsCert');
  const key = reader.pem('temporalTlsKey');
  const serverName = reader.text('temporalTlsServerName');
  if ((crt === undefined) !== (key === undefined)) {
    reader.problems.push('temporalTlsCert: a certificate and its key belong together');
  }
  if (ca === undefined && crt === undefined && serverName === undefined) return {};
  return {
    temporalTls: {
      ...(ca === undefined ? {} : { serverRootCACertificate: ca }),
      ...(crt === undefined || key === undefined ? {} : { clientCertPair: { crt, key } }),
      ...(serverName === undefined ? {} : { serverNameOverride: serverName }),
    },
  };
}
