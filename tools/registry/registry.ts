/**
 * docker-registry on an address of this machine. It ends with this process; plain HTTP by default.
 */

import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startProcess, waitUntilReady, type ManagedProcess } from '../processes/managed-process';
import { freePorts } from '../processes/free-ports';
import { adoptDirectory } from '../processes/watchdog';
import { bytesOf, readAccessLog, servedBlobs, type ServedBlob } from './access-log';
import { ensureRegistry } from './program';

interface RegistryOptions {
  /** Absent = a free loopback port. */
  readonly address?: string;
  /** Also kept after `stop()`; absent = a temporary directory. */
  readonly directory?: string;
  /** bcrypt; absent = no password is needed. */
  readonly htpasswd?: string;
  /** Absent = plain http. */
  readonly tls?: RegistryTls;
  /** Command prefix, such as `ip netns exec NAME`. */
  readonly wrapper?: readonly string[];
}

/** PEM. */
interface RegistryTls {
  readonly certificate: string;
  readonly key: string;
  /** Only requests of this process need it. */
  readonly authority: string;
}

export interface Registry {
  /** As in image references. */
  readonly address: string;
  readonly directory: string;
  readonly logFile: string;
  /** In order: the cost of pulls. */
  blobs(): Promise<readonly ServedBlob[]>;
  /** Fetched while `work` ran. */
  during<T>(work: () => Promise<T>): Promise<ServedDuring<T>>;
  /** So that a test can damage it. */
  blobFile(digest: string): string;
  /** Removes a temporary directory. */
  stop(): Promise<void>;
  /** As a crash does; `restart` starts it again. */
  kill(): Promise<void>;
  /** With the same address and directory. */
  restart(): Promise<void>;
}

interface ServedDuring<T> {
  readonly result: T;
  readonly blobs: readonly ServedBlob[];
  readonly bytes: number;
}

const READY_TIMEOUT_MS = 20_000;

export async function startRegistry(options: RegistryOptions = {}): Promise<Registry> {
  const program = await ensureRegistry();
  const address = options.address ?? `127.0.0.1:${String((await freePorts(1))[0])}`;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'slipway-registry-')));
  const disown = options.directory === undefined ? adoptDirectory(directory) : undefined;
  const logFile = join(directory, 'registry.log');
  await mkdir(directory, { recursive: true });
  const configFile = await writeConfig(directory, address, options);
  const ask = asking(address, options.tls);
  const start = (): Promise<ManagedProcess> =>
    startServer([...(options.wrapper ?? []), program, 'serve', configFile], ask, logFile);
  let server = await start();
  const blobs = async (): Promise<readonly ServedBlob[]> => {
    await catchUp(ask, logFile);
    return servedBlobs(await readAccessLog(logFile));
  };
  return {
    address,
    directory,
    logFile,
    blobs,
    async during(work) {
      const before = (await blobs()).length;
      const result = await work();
      const served = (await blobs()).slice(before);
      return { result, blobs: served, bytes: bytesOf(served) };
    },
    blobFile: (digest) => blobFile(directory, digest),
    async stop() {
      await server.stop();
      if (disown === undefined) return;
      disown();
      await rm(directory, { recursive: true, force: true });
    },
    kill: () => server.kill(),
    async restart() {
      server = await start();
    },
  };
}

/** Requests a path. @returns the status */
type Ask = (path: string) => Promise<number>;

function asking(address: string, tls: RegistryTls | undefined): Ask {
  const get = tls === undefined ? getPlain : getSecure;
  const url = `${tls === undefined ? 'http' : 'https'}://${address}`;
  const options = tls === undefined ? {} : { ca: tls.authority };
  return (path) =>
    new Promise((resolve, reject) => {
      const request = get(`${url}${path}`, { ...options, agent: false }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode ?? 0));
        answer.once('error', reject);
      });
      request.once('error', reject);
    });
}

async function startServer(
  [command = '', ...args]: readonly string[],
  ask: Ask,
  logFile: string,
): Promise<ManagedProcess> {
  const server = await startProcess({ name: 'docker-registry', command, args, logFile });
  // 401 shows that it serves.
  const isReady = async (): Promise<boolean> => [200, 401].includes(await ask('/v2/'));
  await waitUntilReady(server, isReady, READY_TIMEOUT_MS);
  return server;
}

/**
 * The registry logs a request after its answer, and requests of two connections in any order. So
 * our own is looked for twice: the second is sent when the first is in the log.
 */
async function catchUp(ask: Ask, logFile: string): Promise<void> {
  for (const marker of [`/v2/?${randomUUID()}`, `/v2/?${randomUUID()}`]) {
    await ask(marker);
    while (!(await readFile(logFile, 'utf8')).includes(marker)) await delay(10);
  }
}

async function writeConfig(
  directory: string,
  address: string,
  { htpasswd, tls }: RegistryOptions,
): Promise<string> {
  const secret = async (name: string, content: string): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  const config: Record<string, unknown> = {
    version: 0.1,
    log: { level: 'info', formatter: 'json', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: join(directory, 'storage') },
      delete: { enabled: true },
      // A cache would hide a damaged blob.
      cache: {},
    },
    http: {
      addr: address,
      ...(tls === undefined
        ? {}
        : {
            tls: {
              certificate: await secret('tls.crt', tls.certificate),
              key: await secret('tls.key', tls.key),
            },
          }),
    },
  };
  if (htpasswd !== undefined) {
    const path = await secret('htpasswd', htpasswd);
    config['auth'] = { htpasswd: { realm: 'slipway', path } };
  }
  const file = join(directory, 'registry.yml');
  // JSON is valid YAML.
  await writeFile(file, JSON.stringify(config));
  return file;
}

function blobFile(directory: string, digest: string): string {
  const hex = digest.replace('sha256:', '');
  const blobs = join(directory, 'storage', 'docker', 'registry', 'v2', 'blobs', 'sha256');
  return join(blobs, hex.slice(0, 2), hex, 'data');
}
