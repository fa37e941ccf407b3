import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { TEMPORAL_NAMESPACE } from '../core/names';
import { variableOf } from '../process/settings';
import { connectionOptions, type TemporalPlace } from '../process/temporal/connection-options';
import { ensureBinary } from './binaries';
import { run } from './binaries/run-program';
import { startPostgres, type Postgres } from './postgres/postgres';
import { freePorts } from './processes/free-ports';
import { residentBytes } from './processes/identity';
import { startProcess, waitUntilReady, type ManagedProcess } from './processes/managed-process';
import { adoptDirectory } from './processes/watchdog';
import { repositoryRoot } from './repository-root';
import {
  answers,
  DEFAULT_SEARCH_ATTRIBUTES,
  isUsable,
  START_TIMEOUT_MS,
  type TemporalOptions,
  type TemporalServer,
} from './temporal';

/** The two databases of Temporal. */
export interface Databases {
  readonly workflows: string;
  readonly visibility: string;
}

/** PEM files of one authority. Clients, and the parts of the server, have to show a certificate. */
export interface TemporalTlsFiles {
  readonly authority: string;
  readonly server: { readonly certificate: string; readonly key: string };
  readonly client: { readonly certificate: string; readonly key: string };
  /** In the certificate of the server. */
  readonly serverName: string;
}

interface TemporalOnPostgresOptions extends Pick<TemporalOptions, 'payloadKeys'> {
  readonly tls?: TemporalTlsFiles | undefined;
}

export interface TemporalOnPostgres extends TemporalServer {
  readonly postgres: Postgres;
  readonly databases: Databases;
  /**
   * Ends the server, and starts it on these databases.
   *
   * @param first - is done before, on a server with this address that nobody else knows
   */
  moveTo(databases: Databases, first: (address: string) => Promise<void>): Promise<void>;
  /**
   * Another server beside this one, which shares its work, as a second pod does: on the same ports
   * of another address. Linux only.
   */
  startReplica(): Promise<TemporalReplica>;
}

export type TemporalReplica = Pick<TemporalServer, 'address' | 'pid' | 'logFile' | 'kill'>;

export function isOnPostgres(server: TemporalServer): server is TemporalOnPostgres {
  return 'postgres' in server;
}

const DATABASES: Databases = { workflows: 'temporal', visibility: 'temporal_visibility' };

/** As for the cluster: `deploy/temporal` has the configuration and the set-up of the schema. */
const DEPLOYED = join(repositoryRoot(), 'deploy', 'temporal');

/** More would only cost memory on one machine. */
const HISTORY_SHARDS = '4';

/**
 * The Temporal server for production on a PostgreSQL of its own, with the files of
 * `deploy/temporal`. Resolves when namespace and search attributes, which `slipway setup temporal`
 * makes, can be used.
 *
 * @throws Error with the end of the log of what does not start
 */
export async function startTemporalOnPostgres({
  tls,
  payloadKeys,
}: TemporalOnPostgresOptions = {}): Promise<TemporalOnPostgres> {
  const [command, schemaTool] = [
    await ensureBinary('temporal-server'),
    await ensureBinary('temporal-sql-tool'),
  ];
  const postgres = await startPostgres();
  const directory = await mkdtemp(join(tmpdir(), 'slipway-temporal-'));
  const disown = adoptDirectory(directory);
  const place: Place = {
    ...{ command, schemaTool, postgres, logFile: join(directory, 'temporal.log') },
    ...{ tls, payloadKeys, ip: '127.0.0.1', ports: await pickPorts() },
  };
  const end = async (): Promise<void> => {
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
    disown();
  };
  try {
    await setUpSchema(place, DATABASES);
    return serve(place, await startFirst(place, DATABASES), end);
  } catch (error) {
    await end();
    throw error;
  }
}

interface Place extends TemporalOnPostgresOptions {
  readonly command: string;
  readonly schemaTool: string;
  readonly postgres: Postgres;
  readonly logFile: string;
  readonly ip: string;
  readonly ports: Readonly<Record<string, string>>;
}

function serve(place: Place, first: ManagedProcess, end: () => Promise<void>): TemporalOnPostgres {
  let running = first;
  let databases = DATABASES;
  let losses = 0;
  let replica: TemporalReplica | undefined;
  return {
    address: addressOf(place),
    namespace: TEMPORAL_NAMESPACE,
    uiUrl: undefined,
    payloadKeys: place.payloadKeys,
    postgres: place.postgres,
    logFile: place.logFile,
    get pid() {
      return running.pid;
    },
    get databases() {
      return databases;
    },
    memory: () => (running.ending() === undefined ? residentBytes(running.pid) : undefined),
    kill: () => running.kill(),
    restart: async () => {
      await running.stop();
      running = await start(place, databases);
    },
    moveTo: async (others, first) => {
      await running.stop();
      databases = others;
      const unknown = { ...place, ports: await pickPorts() };
      const server = await start(unknown, databases);
      await first(addressOf(unknown)).finally(() => server.stop());
      running = await start(place, databases);
    },
    lose: async () => {
      await running.kill();
      losses += 1;
      databases = { workflows: `temporal_${losses}`, visibility: `temporal_visibility_${losses}` };
      await setUpSchema(place, databases);
      running = await startFirst(place, databases);
    },
    startReplica: async () => {
      replica = await startReplica(place, databases);
      return replica;
    },
    stop: async () => {
      await replica?.kill();
      await running.stop();
      await end();
    },
  };
}

async function startReplica(place: Place, databases: Databases): Promise<TemporalReplica> {
  const logFile = join(dirname(place.logFile), 'replica.log');
  const other = { ...place, logFile, ip: '127.0.0.2' };
  const server = await start(other, databases);
  return { address: addressOf(other), pid: server.pid, logFile, kill: () => server.kill() };
}

async function pickPorts(): Promise<Readonly<Record<string, string>>> {
  const names = ['FRONTEND', 'HISTORY', 'MATCHING', 'WORKER'].flatMap((service) => [
    `${service}_PORT`,
    `${service}_MEMBERSHIP_PORT`,
  ]);
  const ports = await freePorts(names.length);
  return Object.fromEntries(names.map((name, index) => [name, String(ports[index])]));
}

function addressOf({ ip, ports }: Place): string {
  return `${ip}:${ports['FRONTEND_PORT']}`;
}

/** What a pod of `deploy/temporal` gets, too. */
function environmentOf(place: Place, { workflows, visibility }: Databases) {
  const { address, user, password } = place.postgres;
  return {
    POSTGRES_HOST: address,
    POSTGRES_USER: user,
    POSTGRES_PASSWORD: password,
    POSTGRES_DATABASE: workflows,
    POSTGRES_VISIBILITY_DATABASE: visibility,
    HISTORY_SHARDS,
    LOG_LEVEL: 'warn',
    BIND_IP: place.ip,
    POD_IP: place.ip,
    DYNAMIC_CONFIG: join(DEPLOYED, 'dynamic-config.yaml'),
    ...place.ports,
    ...(place.tls === undefined ? {} : serverTls(place.tls)),
  };
}

function serverTls({ server, authority, serverName }: TemporalTlsFiles) {
  return {
    TLS_CERT: server.certificate,
    TLS_KEY: server.key,
    TLS_CA: authority,
    TLS_SERVER_NAME: serverName,
  };
}

/** How a client finds it: the settings of every Slipway process. */
function settingsOf(place: Place): TemporalPlace {
  const { tls } = place;
  return {
    temporalAddress: addressOf(place),
    temporalTlsCa: tls?.authority,
    temporalTlsCert: tls?.client.certificate,
    temporalTlsKey: tls?.client.key,
    temporalTlsServerName: tls?.serverName,
  };
}

async function setUpSchema(place: Place, databases: Databases): Promise<void> {
  const path = [dirname(place.schemaTool), process.env['PATH']].join(delimiter);
  const environment = { ...process.env, ...environmentOf(place, databases), PATH: path };
  await run('sh', [join(DEPLOYED, 'schema.sh')], environment);
}

/** On new databases. */
async function startFirst(place: Place, databases: Databases): Promise<ManagedProcess> {
  const server = await started(place, databases, () =>
    answers(connectionOptions(settingsOf(place))),
  );
  try {
    await run(process.execPath, [slipway(), 'setup', 'temporal'], {
      ...process.env,
      ...variablesOf({ ...settingsOf(place), temporalNamespace: TEMPORAL_NAMESPACE }),
    });
    return server;
  } catch (error) {
    await server.kill();
    throw error;
  }
}

function variablesOf(settings: object): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([setting, value]: [string, string | undefined]) =>
      value === undefined ? [] : [[variableOf(setting), value]],
    ),
  );
}

function slipway(): string {
  return join(repositoryRoot(), 'dist', 'cli', 'main.js');
}

function start(place: Place, databases: Databases): Promise<ManagedProcess> {
  return started(place, databases, () =>
    isUsable(connectionOptions(settingsOf(place)), TEMPORAL_NAMESPACE, DEFAULT_SEARCH_ATTRIBUTES),
  );
}

async function started(
  place: Place,
  databases: Databases,
  isReady: () => Promise<boolean>,
): Promise<ManagedProcess> {
  const server = await startProcess({
    name: 'temporal-server',
    command: place.command,
    args: ['--config-file', join(DEPLOYED, 'server.yaml'), '--allow-no-auth', 'start'],
    logFile: place.logFile,
    environment: environmentOf(place, databases),
  });
  try {
    await waitUntilReady(server, isReady, START_TIMEOUT_MS);
    return server;
  } catch (error) {
    await server.kill();
    throw error;
  }
}
