import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { run } from '../binaries/run-program';
import { freePorts } from '../processes/free-ports';
import { isRunning, startTimeOf } from '../processes/identity';
import { startProcess, waitUntilReady, type ManagedProcess } from '../processes/managed-process';
import { adoptDirectory } from '../processes/watchdog';
import { ensurePostgres, type PostgresPrograms } from './programs';

export interface Postgres {
  /** `host:port` */
  readonly address: string;
  readonly user: string;
  readonly password: string;
  readonly logFile: string;
  /** For the programs of PostgreSQL: where the server is, and as whom. Has the password. */
  readonly environment: Readonly<Record<string, string>>;
  /** Changes with a restart. */
  readonly pid: number;
  /** IDs of all its processes. */
  processes(): readonly number[];
  /** SIGKILL for each of them, as in a power cut. */
  kill(): Promise<void>;
  /** After `kill()`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 120_000;
const USER = 'temporal';
/** As docs/temporal.md asks for: one Temporal server opens 120 at most. */
const MAX_CONNECTIONS = 300;

/**
 * A new PostgreSQL with a password, on a free loopback port, in a directory of its own that is
 * removed with it.
 *
 * @throws Error with the end of its log when it does not start
 */
export async function startPostgres(): Promise<Postgres> {
  const programs = await ensurePostgres();
  const directory = await mkdtemp(join(tmpdir(), 'slipway-postgres-'));
  const disown = adoptDirectory(directory);
  const removeDirectory = async (): Promise<void> => {
    await rm(directory, { recursive: true, force: true });
    disown();
  };
  try {
    const [port = 0] = await freePorts(1);
    const password = randomBytes(24).toString('base64url');
    const place = { programs, directory, port, logFile: join(directory, 'postgres.log') };
    await createCluster(place, password);
    const environment = environmentFor(place, password);
    let running = await start(place, environment);
    return {
      address: `127.0.0.1:${port}`,
      ...{ user: USER, password, logFile: place.logFile, environment },
      get pid() {
        return running.pid;
      },
      processes: () => [running.pid, ...childrenOf(running.pid)],
      kill: () => killAll(running),
      restart: async () => {
        running = await start(place, environment);
      },
      stop: async () => {
        await killAll(running);
        await removeDirectory();
      },
    };
  } catch (error) {
    await removeDirectory();
    throw error;
  }
}

interface Place {
  readonly programs: PostgresPrograms;
  readonly directory: string;
  readonly port: number;
  readonly logFile: string;
}

async function createCluster(place: Place, password: string): Promise<void> {
  const { programs, directory } = place;
  const passwordFile = join(directory, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (programs.user !== undefined)
    await run('chown', ['-R', `${programs.user}:`, directory], process.env);
  const [command, ...args] = programOf(programs, 'initdb');
  await run(
    command,
    [
      ...args,
      ...['--pgdata', join(directory, 'data'), '--username', USER, '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--no-locale', '--no-instructions'],
    ],
    process.env,
    directory,
  );
  await rm(passwordFile);
}

/** As the user that it runs as. */
function programOf(
  { directory, user }: PostgresPrograms,
  name: string,
): readonly [string, ...string[]] {
  const path = join(directory, name);
  if (user === undefined) return [path];
  return ['setpriv', '--reuid', user, '--regid', user, '--clear-groups', path];
}

function environmentFor({ port }: Place, password: string): Readonly<Record<string, string>> {
  return {
    ...{ PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: USER, PGPASSWORD: password },
    PGDATABASE: 'postgres',
  };
}

async function start(
  { programs, directory, port, logFile }: Place,
  environment: Readonly<Record<string, string>>,
): Promise<ManagedProcess> {
  const [command, ...args] = programOf(programs, 'postgres');
  const server = await startProcess({
    name: 'postgres',
    command,
    args: [
      ...args,
      ...['-D', join(directory, 'data'), '-p', String(port)],
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      ...['-c', `max_connections=${MAX_CONNECTIONS}`],
    ],
    logFile,
  });
  const isReady = async (): Promise<boolean> => {
    const everything = { ...process.env, ...environment };
    await run(join(programs.directory, 'psql'), ['-c', 'select 1'], everything);
    return true;
  };
  try {
    await waitUntilReady(server, isReady, START_TIMEOUT_MS);
    return server;
  } catch (error) {
    await killAll(server);
    throw error;
  }
}

/** It does not start again before the last of them has left the shared memory. */
async function killAll(server: ManagedProcess): Promise<void> {
  const backends = childrenOf(server.pid).flatMap((pid) => {
    const startTime = startTimeOf(pid);
    return startTime === undefined ? [] : [{ pid, startTime }];
  });
  await server.kill();
  const left = () => backends.filter(({ pid, startTime }) => isRunning(pid, startTime));
  for (const { pid } of left()) process.kill(pid, 'SIGKILL');
  while (left().length > 0) await delay(20);
}

/** Linux only, as the package. */
function childrenOf(pid: number): readonly number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
    return children
      .split(' ')
      .filter((text) => text !== '')
      .map(Number);
  } catch {
    return []; // no such process
  }
}
