import { Client, Connection } from '@temporalio/client';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from '../process/temporal/connection-options';
import { dataConverter } from '../process/temporal/payload-codec';
import { TEMPORAL_NAMESPACE } from '../core/names';
import { SEARCH_ATTRIBUTE } from '../workflows/contracts/search-attributes';
import { ensureBinary } from './binaries';
import type { InstalledPayloadKeys } from './payload-keys';
import {
  startProcess,
  waitUntilReady,
  type ManagedProcess,
  type ProcessSpec,
} from './processes/managed-process';
import { residentBytes } from './processes/identity';
import { freePorts } from './processes/free-ports';
import { adoptDirectory } from './processes/watchdog';
import { startUiCodec } from './temporal-ui-codec';

/** All of type Keyword. */
export const DEFAULT_SEARCH_ATTRIBUTES: readonly string[] = Object.values(SEARCH_ATTRIBUTE).map(
  ({ name }) => name,
);

export interface TemporalOptions {
  readonly namespace?: string;
  /**
   * Loopback by default. With another address the server listens on all, because its own parts use
   * loopback.
   */
  readonly ip?: string;
  /** False saves memory and a port. */
  readonly ui?: boolean;
  /**
   * Workflows survive `restart()`; absent = in memory. `true` = in the server's own directory,
   * removed with it. A path = that file, which stays.
   */
  readonly database?: boolean | string;
  /** Of who encodes what is in it; its UI decodes. */
  readonly payloadKeys?: InstalledPayloadKeys | undefined;
  readonly searchAttributes?: readonly string[];
  /** The values are JSON. */
  readonly dynamicConfig?: Readonly<Record<string, unknown>>;
  /** Machines are busy. */
  readonly startTimeoutMs?: number;
}

export interface TemporalServer {
  readonly address: string;
  readonly namespace: string;
  /** With the namespace's workflows; undefined without `ui`. */
  readonly uiUrl: string | undefined;
  /** Decodes for that UI, and for everybody on this machine. */
  readonly uiCodecUrl?: string | undefined;
  /** By which clients read what is in it; absent = it is readable. */
  readonly payloadKeys?: InstalledPayloadKeys | undefined;
  /** Changes with a restart. */
  readonly pid: number;
  readonly logFile: string;
  /** Undefined while it does not run. */
  memory(): number | undefined;
  /** As a crash does. Workflows survive only with a database. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /**
   * Kills the server and starts an empty one, on the same ports or on others (`address` changes
   * then).
   */
  lose(options?: { readonly newPorts?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

export const START_TIMEOUT_MS = 120_000;

/**
 * Limits per namespace are for shared clusters; here one namespace has the whole server. One
 * partition per task queue keeps the latency of a queue with one poller low.
 *
 * The database has one connection. With thousands of task queues most load was checks of their
 * ownership, reads of an older layout, and search attributes read with each workflow.
 *
 * Events for a workflow are buffered while its task runs. With more than 100 of them the server
 * drops the task, and a rollout that starts hundreds of updates gets an event from each.
 */
const DYNAMIC_CONFIG: Readonly<Record<string, unknown>> = {
  'frontend.namespaceCount': 20_000,
  'frontend.namespaceRPS': 20_000,
  'frontend.rps': 20_000,
  'frontend.namespaceRPS.visibility': 1_000,
  'history.rps': 50_000,
  'history.maximumBufferedEventsBatch': 2_000,
  'history.eventsCacheMaxSizeBytes': 64 * 1024 * 1024,
  'matching.rps': 20_000,
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  'matching.updateAckInterval': '10m',
  'matching.enableMigration': false,
  'metrics.breakdownByTaskQueue': false,
  'metrics.breakdownByPartition': false,
  'system.enableActivityEagerExecution': true,
  'frontend.enableCancelWorkerPollsOnShutdown': true,
  'system.forceSearchAttributesCacheRefreshOnRead': false,
};

/**
 * On free loopback ports; resolves when its namespace and search attributes can be used.
 *
 * @throws Error with the end of the server's log when it does not start
 */
export async function startTemporal(options: TemporalOptions = {}): Promise<TemporalServer> {
  const namespace = options.namespace ?? TEMPORAL_NAMESPACE;
  const searchAttributes = options.searchAttributes ?? DEFAULT_SEARCH_ATTRIBUTES;
  const command = await ensureBinary('temporal');
  let ports = await pickPorts();
  const ip = options.ip ?? '127.0.0.1';
  const address = (): string => `${ip}:${ports.port}`;
  const { ui = true, payloadKeys } = options;
  const codec = ui && payloadKeys ? await startUiCodec({ ip, ...ports, payloadKeys }) : undefined;
  const directory = await mkdtemp(join(tmpdir(), 'slipway-temporal-'));
  const disownDirectory = adoptDirectory(directory);
  const logFile = join(directory, 'temporal.log');
  const spec = (): ProcessSpec => ({
    name: 'temporal',
    command,
    args: serverArguments(options, {
      ...{ namespace, ip, ...ports, directory },
      uiCodecUrl: codec?.url,
    }),
    logFile,
  });
  const start = async (): Promise<ManagedProcess> => {
    const server = await startProcess(spec());
    try {
      await waitUntilReady(
        server,
        () => isUsable({ address: address() }, namespace, searchAttributes),
        options.startTimeoutMs ?? START_TIMEOUT_MS,
      );
      return server;
    } catch (error) {
      await server.kill();
      throw error;
    }
  };
  const end = async (): Promise<void> => {
    await codec?.stop();
    await rm(directory, { recursive: true, force: true });
    disownDirectory();
  };
  let running: ManagedProcess;
  try {
    running = await start();
  } catch (error) {
    await end();
    throw error;
  }
  return {
    get address() {
      return address();
    },
    namespace,
    uiUrl: ui ? `http://${ip}:${ports.uiPort}/namespaces/${namespace}/workflows` : undefined,
    uiCodecUrl: codec?.url,
    payloadKeys,
    get pid() {
      return running.pid;
    },
    logFile,
    memory: () => (running.ending() === undefined ? residentBytes(running.pid) : undefined),
    kill: () => running.kill(),
    restart: async () => {
      await running.stop();
      running = await start();
    },
    lose: async ({ newPorts = false } = {}) => {
      await running.kill();
      await removeDatabase(databaseFile(options, directory));
      // Its codec knows the UI by its port.
      if (newPorts) ports = { ...(await pickPorts()), uiPort: ports.uiPort };
      running = await start();
    },
    stop: async () => {
      await running.stop();
      await end();
    },
  };
}

interface Ports {
  readonly port: number;
  readonly uiPort: number;
  readonly httpPort: number;
  readonly metricsPort: number;
}

async function pickPorts(): Promise<Ports> {
  const [port = 0, uiPort = 0, httpPort = 0, metricsPort = 0] = await freePorts(4);
  return { port, uiPort, httpPort, metricsPort };
}

/** With SQLite's files beside it. */
async function removeDatabase(file: string | undefined): Promise<void> {
  if (file === undefined) return;
  for (const ending of ['', '-wal', '-shm', '-journal'])
    await rm(`${file}${ending}`, { force: true });
}

function databaseFile({ database = false }: TemporalOptions, directory: string) {
  if (database === false) return undefined;
  return database === true ? join(directory, 'temporal.db') : database;
}

interface Placement extends Ports {
  readonly namespace: string;
  readonly ip: string;
  readonly directory: string;
  readonly uiCodecUrl: string | undefined;
}

function serverArguments(options: TemporalOptions, placement: Placement): readonly string[] {
  const { searchAttributes = DEFAULT_SEARCH_ATTRIBUTES } = options;
  const isLocal = placement.ip === '127.0.0.1';
  const file = databaseFile(options, placement.directory);
  return [
    ...[
      'server',
      'start-dev',
      '--ip',
      isLocal ? placement.ip : '0.0.0.0',
      '--port',
      String(placement.port),
    ],
    ...['--http-port', String(placement.httpPort), '--metrics-port', String(placement.metricsPort)],
    ...['--namespace', placement.namespace, '--log-level', 'warn'],
    // Without the user's own Temporal settings.
    ...['--disable-config-file', '--disable-config-env'],
    ...(options.ui === false
      ? ['--headless']
      : ['--ui-port', String(placement.uiPort), '--ui-disable-news-fetch']),
    ...(placement.uiCodecUrl === undefined ? [] : ['--ui-codec-endpoint', placement.uiCodecUrl]),
    ...(file === undefined ? [] : ['--db-filename', file]),
    ...searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ...Object.entries({ ...DYNAMIC_CONFIG, ...options.dynamicConfig }).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
  ];
}

/** The caller closes its connection. */
export async function temporalClient(place: TemporalPlace): Promise<Client> {
  const { address, namespace, payloadKeys } = place;
  const connection = await Connection.connect({ address });
  return new Client({ connection, namespace, dataConverter: dataConverter(payloadKeys?.codec) });
}

export async function withTemporalClient<T>(
  server: TemporalPlace,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await temporalClient(server);
  try {
    return await use(client);
  } finally {
    await client.connection.close();
  }
}

type TemporalPlace = Pick<TemporalServer, 'address' | 'namespace' | 'payloadKeys'>;

export async function answers(place: ConnectionOptions): Promise<boolean> {
  const connection = await Connection.connect({ ...place, connectTimeout: '2s' });
  await connection.close();
  return true;
}

/** Queries every search attribute, as Slipway will. */
export async function isUsable(
  place: ConnectionOptions,
  namespace: string,
  searchAttributes: readonly string[],
): Promise<boolean> {
  const connection = await Connection.connect({ ...place, connectTimeout: '2s' });
  try {
    await connection.workflowService.describeNamespace({ namespace });
    const query = searchAttributes.map((name) => `${name} = 'none'`).join(' OR ');
    await connection.workflowService.countWorkflowExecutions({ namespace, query });
    return true;
  } finally {
    await connection.close();
  }
}
