/**
 * Join tokens from files: `join-tokens/*.yaml`, the Secret of one token each. Without the
 * directory, only `joinMode: open` admits machines.
 */

import { readdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ObjectMeta } from '../../adapters/api-schemas/object-schemas';
import { readJoinTokenSecret } from '../../adapters/kube/join-tokens';
import { messageOf } from '../../core/errors';
import type { JoinTokenRecord } from '../../core/join';
import { followFiles } from '../follow-files';
import type { TokenView } from '../join-gate';
import { readObject } from './manifests';

const TokenSecret = z.looseObject({
  type: z.exactOptional(z.string()),
  metadata: ObjectMeta,
  /** Base 64. */
  data: z.record(z.string(), z.string()),
});

const TOKEN_FILE = /\.ya?ml$/;

type Records = ReadonlyMap<string, JoinTokenRecord>;

interface TokenLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Follows changes. A file without a token is logged and left out.
 *
 * @throws the error of the file system when the directory cannot be read at first
 */
export async function followBootstrapTokens(
  directory: string,
  { signal, log }: { readonly signal: AbortSignal; readonly log: TokenLog },
): Promise<TokenView> {
  const folder = join(directory, 'join-tokens');
  let records: Records = new Map();
  let reading = Promise.resolve();
  const readAgain = async (): Promise<void> => {
    try {
      const read = await readRecords(folder, log);
      // Other changes around the folder are no news.
      if (JSON.stringify([...read]) === JSON.stringify([...records])) return;
      records = read;
      log.info({ folder, tokens: records.size }, 'read the join tokens again');
    } catch (error) {
      log.error({ folder, reason: messageOf(error) }, 'join tokens cannot be read again');
    }
  };
  followFiles(
    () => [folder, join(folder, '*'), ...filesIn(folder)],
    () => {
      reading = reading.then(readAgain);
    },
    { signal, log },
  );
  records = await readRecords(folder, log);
  return { isSynced: true, find: (id) => records.get(id) };
}

async function readRecords(folder: string, log: TokenLog): Promise<Records> {
  const records = new Map<string, JoinTokenRecord>();
  for (const name of await namesIn(folder)) {
    const file = join(folder, name);
    try {
      const record = await readRecord(file);
      records.set(record.id, record);
    } catch (error) {
      log.error({ file, reason: messageOf(error) }, 'a file holds no join token, and is left out');
    }
  }
  return records;
}

/** @throws an Error that quotes nothing of the file */
async function readRecord(file: string): Promise<JoinTokenRecord> {
  const record = readJoinTokenSecret(readObject(TokenSecret, await readFile(file, 'utf8'), file));
  if ('problem' in record) throw new Error(record.problem);
  return record;
}

/** Each may be a link to another directory. */
function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => TOKEN_FILE.test(name))
      .map((name) => join(folder, name));
  } catch {
    // Reading the tokens reports the error.
    return [];
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => TOKEN_FILE.test(name)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
