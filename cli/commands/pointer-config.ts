/** `slipway pointer-config POOL`: the Ignition config that a new machine is started with. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { messageOf } from '../../core/errors';
import { parseAndConvert, readRawIgnition, validateIgnition } from '../../core/ignition';
import { parseJoinToken, pointerIgnition, type Pointer } from '../../core/join';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import type { CliContext, ServerFacts } from '../ports';
import { checkJoinToken, checkPool, checkPoolName, madeText, makeJoinToken } from './join-token';

export interface PointerOptions {
  readonly serverUrl?: string;
  readonly caFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  /** Seconds. */
  readonly ttl?: number;
  readonly open?: boolean;
}

/** `-` is standard input. */
export type ReadText = (path: string) => Promise<string>;

const readText: ReadText = (path) =>
  path === '-' ? textOf(process.stdin) : readFile(path, 'utf8');

/** As in MCO. */
const SERVER_PORT = 22_623;

/** The cluster is asked only for a missing token, authority or address. */
export async function printPointerConfig(
  context: CliContext,
  pool: string,
  options: PointerOptions,
  read: ReadText = readText,
): Promise<ExitCode> {
  checkPoolName(pool);
  const given = await givenToken(options, read);
  const needsToken = given === undefined && options.open !== true;
  const isComplete = options.serverUrl !== undefined && options.caFile !== undefined && !needsToken;
  const facts = isComplete ? {} : await askCluster(context, pool, given);
  const pointer = {
    pool,
    serverUrl: serverUrlOf(options.serverUrl, facts),
    authority: await authorityOf(options.caFile, { facts, read, now: context.now() }),
  };
  // Last: an error above must not leave a token behind.
  const token = needsToken ? await newToken(context, pool, options.ttl) : given;
  const config = checked({ ...pointer, ...(token === undefined ? {} : { token }) });
  context.terminal.out.write(`${JSON.stringify(config, null, 2)}\n`);
  return EXIT.OK;
}

async function askCluster(
  context: CliContext,
  pool: string,
  token: string | undefined,
): Promise<ServerFacts> {
  const cluster = await context.cluster();
  await checkPool(cluster, pool);
  const parts = token === undefined ? undefined : parseJoinToken(token);
  if (parts !== undefined) await checkJoinToken(context, parts, pool);
  return cluster.serverFacts();
}

async function newToken(
  context: CliContext,
  pool: string,
  ttlSeconds: number | undefined,
): Promise<string> {
  const { text, record } = await makeJoinToken(context, { pool, ttlSeconds });
  context.terminal.err.write(`${madeText(record)}\n`);
  return text;
}

async function givenToken(
  { token, tokenFile }: PointerOptions,
  read: ReadText,
): Promise<string | undefined> {
  if (token === undefined && tokenFile === undefined) return undefined;
  const flag = tokenFile === undefined ? '--token' : `--token-file ${tokenFile}`;
  const text = tokenFile === undefined ? token : await readInput('--token-file', tokenFile, read);
  const trimmed = (text ?? '').trim();
  if (parseJoinToken(trimmed) !== undefined) return trimmed;
  throw cliError(EXIT.USAGE, `${flag}: this is no join token (slipway-join.<id>.<secret>)`);
}

async function readInput(flag: string, path: string, read: ReadText): Promise<string> {
  try {
    return await read(path);
  } catch (error) {
    throw cliError(EXIT.USAGE, `${flag} ${path}: ${messageOf(error)}`);
  }
}

function serverUrlOf(given: string | undefined, { internalHost }: ServerFacts): string {
  if (given === undefined) {
    if (internalHost !== undefined) return `https://${internalHost}:${SERVER_PORT}`;
    throw cliError(
      EXIT.USAGE,
      `the ControllerConfig does not say where machines find the server (spec.infra.status.apiServerInternalURI); give --server-url https://<host>:${SERVER_PORT}`,
    );
  }
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isPlain = url !== undefined && url.search + url.hash + url.username + url.password === '';
  if (url?.protocol === 'https:' && isPlain) return url.href;
  throw cliError(
    EXIT.USAGE,
    `--server-url: expected https://<host>:${SERVER_PORT}, without user, query or fragment`,
  );
}

interface AuthoritySource {
  readonly facts: ServerFacts;
  readonly read: ReadText;
  /** Milliseconds since 1970. */
  readonly now: number;
}

async function authorityOf(
  caFile: string | undefined,
  { facts, read, now }: AuthoritySource,
): Promise<string> {
  if (caFile !== undefined) {
    const pem = await readInput('--ca-file', caFile, read);
    return certificatesOf(pem, `--ca-file ${caFile}`, now);
  }
  if (facts.serverCa !== undefined) {
    return certificatesOf(facts.serverCa, 'configmap slipway/slipway-server-ca', now);
  }
  if (facts.rootCa !== undefined) {
    return certificatesOf(facts.rootCa, 'spec.rootCAData of the ControllerConfig', now);
  }
  throw cliError(
    EXIT.USAGE,
    'there is neither configmap slipway/slipway-server-ca nor spec.rootCAData of the ControllerConfig; give the authority of the server with --ca-file',
  );
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** A key beside the certificates must not be printed. */
function certificatesOf(pem: string, source: string, now: number): string {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0)
    throw cliError(EXIT.USAGE, `${source}: there is no PEM certificate in it`);
  const ends = blocks.map((block) => endOf(block, source));
  const last = Math.max(...ends);
  if (last <= now) {
    throw cliError(EXIT.USAGE, `${source}: it expired at ${new Date(last).toISOString()}`);
  }
  return `${blocks.join('\n')}\n`;
}

function endOf(block: string, source: string): number {
  try {
    return Date.parse(new X509Certificate(block).validTo);
  } catch (error) {
    throw cliError(EXIT.USAGE, `${source}: a certificate cannot be read: ${messageOf(error)}`);
  }
}

/** As the server parses configs. */
function checked(pointer: Pointer): object {
  const config = pointerIgnition(pointer);
  const raw = readRawIgnition(config, { gunzip: gunzipSync });
  validateIgnition(parseAndConvert(raw));
  return config;
}
