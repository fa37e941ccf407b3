/** `slipway pointer-config POOL`: the Ignition config that a new machine is started with. */

import { gunzipSync } from 'node:zlib';
import { parseAndConvert, readRawIgnition, validateIgnition } from '../../core/ignition';
import { parseJoinToken, pointerIgnition, type Pointer } from '../../core/join';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import type { CliContext, ServerFacts } from '../ports';
import { readHostSettings } from './host-settings';
import { checkJoinToken, checkPool, checkPoolName, madeText, makeJoinToken } from './join-token';
import {
  authorityOf,
  orderKeysOf,
  readInput,
  readText,
  type ReadText,
  serverUrlOf,
} from './server-place';

export interface PointerOptions {
  readonly serverUrl?: string;
  readonly caFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  /** Seconds. */
  readonly ttl?: number;
  readonly open?: boolean;
  /** Path of a `host.yaml`, for a stock image. */
  readonly hostSettings?: string;
  /** Beside it. */
  readonly orderKeysFile?: string;
}

/** The cluster is asked only for what is not given. */
export async function printPointerConfig(
  context: CliContext,
  pool: string,
  options: PointerOptions,
  read: ReadText = readText,
): Promise<ExitCode> {
  checkPoolName(pool);
  const given = await givenToken(options, read);
  const needsToken = given === undefined && options.open !== true;
  const { serverUrl, caFile, hostSettings: settingsFile, orderKeysFile } = options;
  const hostSettings =
    settingsFile === undefined ? undefined : await readHostSettings(settingsFile, read);
  const needsKeys = hostSettings !== undefined && orderKeysFile === undefined;
  const isComplete = ![serverUrl, caFile].includes(undefined) && !needsToken && !needsKeys;
  const facts = isComplete ? {} : await askCluster(context, pool, given);
  const pointer = {
    pool,
    serverUrl: serverUrlOf(serverUrl, facts),
    authority: await authorityOf(caFile, { facts, read, now: context.now() }),
    ...(hostSettings === undefined
      ? {}
      : {
          hostWorker: {
            hostSettings,
            orderKeys: await orderKeysOf(orderKeysFile, { facts, read }),
          },
        }),
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

/** As the server parses configs. */
function checked(pointer: Pointer): object {
  const config = pointerIgnition(pointer);
  const raw = readRawIgnition(config, { gunzip: gunzipSync });
  validateIgnition(parseAndConvert(raw));
  return config;
}
