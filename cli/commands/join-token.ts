/** `slipway join-token create|list|revoke|prune`: tokens that open the first config of a pool. */

import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { joinTokenSecret } from '../../adapters/kube/join-tokens';
import { failureName, messageOf } from '../../core/errors';
import {
  hashJoinSecret,
  isJoinTokenExpired,
  isJoinTokenId,
  JOIN_DESCRIPTION_LIMIT,
  JOIN_TOKEN_TTL,
  type JoinTokenParts,
  type JoinTokenRecord,
  newJoinToken,
  parseJoinToken,
  type StoredJoinToken,
} from '../../core/join';
import { BOOTSTRAP_POOLS } from '../../core/names';
import { rfc3339 } from '../../core/rfc3339';
import { formatAge, formatDuration, formatDurationFlag } from '../durations';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import { type OutputFormat, printData, printListing } from '../output';
import type { CliCluster, CliContext } from '../ports';

interface JoinTokenRequest {
  readonly pool: string;
  readonly ttlSeconds?: number | undefined;
  readonly description?: string | undefined;
  /** The Secret goes to this file instead of the cluster. */
  readonly secretFile?: string | undefined;
}

/** `text` is the only copy. */
interface MadeJoinToken {
  readonly text: string;
  readonly record: JoinTokenRecord;
}

/** IDs are 40 random bits: one more try after a clash. */
const ATTEMPTS = 3;

/** Only the token goes to standard output, so that a shell can capture it. */
export async function createJoinToken(
  context: CliContext,
  request: JoinTokenRequest,
  output: OutputFormat,
): Promise<ExitCode> {
  const { text, record } = await makeJoinToken(context, request);
  const { out, err } = context.terminal;
  if (output === 'json' || output === 'yaml') {
    const { id, pool, createdAt, expiresAt, description } = record;
    const shown = { id, pool, token: text, createdAt, expiresAt };
    printData(
      { ...shown, ...(description === undefined ? {} : { description }) },
      output,
      context.terminal,
    );
    return EXIT.OK;
  }
  out.write(`${text}\n`);
  err.write(`${madeText(record)}\nit is not shown again\n`);
  return EXIT.OK;
}

export function madeText({ id, pool, expiresAt }: JoinTokenRecord): string {
  return `join token ${id} lets machines into pool ${pool} until ${expiresAt}; slipway join-token revoke ${id} ends it`;
}

/** Also removes tokens that expired long ago. */
export async function makeJoinToken(
  context: CliContext,
  request: JoinTokenRequest,
): Promise<MadeJoinToken> {
  const { pool, description, secretFile, ttlSeconds = JOIN_TOKEN_TTL.DEFAULT_SECONDS } = request;
  checkPoolName(pool);
  checkTtl(ttlSeconds);
  if (description !== undefined) checkDescription(description);
  const now = context.now();
  const fields = {
    pool,
    createdAt: rfc3339(now),
    expiresAt: rfc3339(now + ttlSeconds * 1000),
    ...(description === undefined ? {} : { description }),
  };
  if (secretFile !== undefined) {
    if (!BOOTSTRAP_POOLS.includes(pool)) {
      const served = BOOTSTRAP_POOLS.join(' and ');
      context.terminal.err.write(
        `pool ${pool} is not served from files: without a cluster, only ${served} are\n`,
      );
    }
    return writeNew(secretFile, fields);
  }
  const cluster = await context.cluster();
  await checkPool(cluster, pool);
  const made = await storeNew(cluster, fields);
  await cluster.joinTokens.prune(now).catch((error: unknown) => {
    context.terminal.err.write(
      `tokens that expired long ago are still there: ${messageOf(error)}\n`,
    );
  });
  return made;
}

/** For the server that installs a cluster. */
async function writeNew(
  secretFile: string,
  fields: Omit<JoinTokenRecord, 'id' | 'hash'>,
): Promise<MadeJoinToken> {
  const { id, text, hash } = newJoinToken(randomBytes);
  const record = { id, hash, ...fields };
  try {
    // Before the first token there may be no directory.
    await mkdir(dirname(secretFile), { recursive: true, mode: 0o700 });
    await writeFile(secretFile, stringify(joinTokenSecret(record)), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw cliError(EXIT.USAGE, `--secret-file ${secretFile}: ${messageOf(error)}`);
  }
  return { text, record };
}

async function storeNew(
  cluster: CliCluster,
  fields: Omit<JoinTokenRecord, 'id' | 'hash'>,
): Promise<MadeJoinToken> {
  for (let attempt = 1; ; attempt += 1) {
    const { id, text, hash } = newJoinToken(randomBytes);
    const record = { id, hash, ...fields };
    try {
      await cluster.joinTokens.create(record);
      return { text, record };
    } catch (error) {
      if (failureName(error) !== 'Conflict' || attempt >= ATTEMPTS) throw error;
    }
  }
}

/** It must fit into a label value. */
const POOL_NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

/** @throws the exit; needs no cluster */
export function checkPoolName(pool: string): void {
  if (POOL_NAME.test(pool)) return;
  throw cliError(
    EXIT.USAGE,
    `${JSON.stringify(pool)} is not the name of a pool: use up to 63 small letters, digits, dashes and dots, with a letter or digit at both ends`,
  );
}

/** @throws the exit, with the names of the existing pools */
export async function checkPool(cluster: CliCluster, pool: string): Promise<void> {
  const names = await cluster.poolNames();
  if (names.includes(pool)) return;
  const there = names.length === 0 ? 'the cluster has no pools' : `there are: ${names.join(', ')}`;
  throw cliError(EXIT.NOT_FOUND, `pool ${pool} not found; ${there}`);
}

function checkTtl(seconds: number): void {
  const { MIN_SECONDS, MAX_SECONDS } = JOIN_TOKEN_TTL;
  if (seconds >= MIN_SECONDS && seconds <= MAX_SECONDS) return;
  throw cliError(
    EXIT.USAGE,
    `--ttl ${formatDurationFlag(seconds)}: a join token lives from 1m to ${MAX_SECONDS / 3600}h`,
  );
}

// eslint-disable-next-line no-control-regex -- control characters are what it keeps out
const PLAIN = /^[^\u0000-\u001f\u007f-\u009f]*$/;

function checkDescription(text: string): void {
  if (text.length <= JOIN_DESCRIPTION_LIMIT && PLAIN.test(text)) return;
  throw cliError(
    EXIT.USAGE,
    `--description: expected one line of at most ${JOIN_DESCRIPTION_LIMIT} characters`,
  );
}

export async function listJoinTokens(context: CliContext, output: OutputFormat): Promise<ExitCode> {
  const tokens = await (await context.cluster()).joinTokens.list();
  const now = context.now();
  const ago = (instant: string | undefined) => `${formatAge(instant, now)} ago`;
  const field = (token: StoredJoinToken, show: (record: JoinTokenRecord) => string) =>
    'problem' in token ? '' : show(token);
  printListing<StoredJoinToken>(
    {
      columns: [
        { header: 'ID', value: ({ id }) => id },
        { header: 'POOL', value: (token) => field(token, ({ pool }) => pool) },
        { header: 'CREATED', value: ({ createdAt }) => ago(createdAt) },
        { header: 'EXPIRES', value: (token) => field(token, (record) => expiry(record, now)) },
        {
          header: 'LAST USED',
          value: (token) =>
            field(token, ({ lastUsedAt }) =>
              lastUsedAt === undefined ? 'never' : ago(lastUsedAt),
            ),
        },
        { header: 'STATE', value: (token) => stateOf(token, now) },
        {
          header: 'DESCRIPTION',
          wide: true,
          value: (token) => ('problem' in token ? token.problem : (token.description ?? '')),
        },
      ],
      rows: tokens,
      data: (token) => withoutHash(token, now),
      empty: 'no join tokens; slipway join-token create --pool <name> makes one',
    },
    output,
    context.terminal,
  );
  return EXIT.OK;
}

function expiry({ expiresAt }: JoinTokenRecord, now: number): string {
  const seconds = (Date.parse(expiresAt) - now) / 1000;
  return seconds > 0 ? `in ${formatDuration(seconds)}` : `${formatDuration(-seconds)} ago`;
}

function stateOf(token: StoredJoinToken, now: number): 'Valid' | 'Expired' | 'Unusable' {
  if ('problem' in token) return 'Unusable';
  return isJoinTokenExpired(token, now) ? 'Expired' : 'Valid';
}

/** The hash is useless to a reader. */
function withoutHash(token: StoredJoinToken, now: number): object {
  const shown = Object.entries(token).filter(([key]) => key !== 'hash');
  return { ...Object.fromEntries(shown), state: stateOf(token, now) };
}

/** Servers see that through their watch, within moments. */
export async function revokeJoinToken(context: CliContext, given: string): Promise<ExitCode> {
  // A pasted token must not appear in a message.
  const id = parseJoinToken(given)?.id ?? given;
  if (!isJoinTokenId(id)) {
    throw cliError(
      EXIT.USAGE,
      'this is not the ID of a join token: expected 10 hexadecimal digits, as slipway join-token list shows them',
    );
  }
  const wasThere = await (await context.cluster()).joinTokens.revoke(id);
  if (!wasThere) {
    throw cliError(EXIT.NOT_FOUND, `join token ${id} not found; see slipway join-token list`);
  }
  context.terminal.err.write(`join token ${id} revoked\n`);
  return EXIT.OK;
}

export async function pruneJoinTokens(context: CliContext): Promise<ExitCode> {
  const ids = await (await context.cluster()).joinTokens.prune(context.now());
  const what =
    ids.length === 0
      ? 'no join token has expired a day ago or earlier'
      : `deleted: ${ids.join(', ')}`;
  context.terminal.err.write(`${what}\n`);
  return EXIT.OK;
}

/** @throws the exit for a token that does not open this pool now; names no secret */
export async function checkJoinToken(
  context: CliContext,
  { id, secret }: JoinTokenParts,
  pool: string,
): Promise<void> {
  const tokens = await (await context.cluster()).joinTokens.list();
  const known = tokens.find((token) => token.id === id);
  const problem = tokenProblem(known, { secret, pool, now: context.now() });
  if (problem !== undefined) throw cliError(EXIT.FAILED, `join token ${id} ${problem}`);
}

function tokenProblem(
  known: StoredJoinToken | undefined,
  { secret, pool, now }: { readonly secret: string; readonly pool: string; readonly now: number },
): string | undefined {
  if (known === undefined) return 'is not one of this cluster, or was revoked';
  if ('problem' in known) return `is unusable: ${known.problem}`;
  if (known.hash !== hashJoinSecret(secret)) return 'has another secret';
  if (isJoinTokenExpired(known, now)) return `expired at ${known.expiresAt}`;
  return known.pool === pool ? undefined : `is for pool ${known.pool}`;
}
