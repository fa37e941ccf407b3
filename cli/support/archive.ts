/**
 * A `.tar.gz` that never grows over its limit. Entries are written one after the other, so only one is in memory. The
 * file is new, and only its owner may read it.
 */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { messageOf } from '../../core/errors';
import { cliError, EXIT } from '../exit-codes';

/** For the last entry and the end of the archive. */
const RESERVED_BYTES = 256 * 1024;
const BLOCK = 512;

export interface Archive {
  /** False when it has no room. @param path - relative, with `/` */
  add(path: string, contents: string): Promise<boolean>;
  /** With a last entry of at most 100 KB, for which there is room. @returns size of the file in bytes */
  end(path: string, contents: string): Promise<number>;
  /** Removes the file. */
  discard(): Promise<void>;
}

/** @throws a usage error when the file exists or cannot be made */
export async function createArchive(file: string, limitBytes: number): Promise<Archive> {
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  await once(output, 'open').catch((error: unknown) => {
    throw cliError(EXIT.USAGE, `${messageOf(error)}; name a new file with --output`);
  });
  const ended = finished(output);
  ended.catch(() => undefined);
  const gzip = createGzip();
  let written = 0;
  gzip.on('data', (chunk: Buffer) => (written += chunk.length));
  gzip.pipe(output);
  const failed = ended.then(
    () => undefined,
    (error: unknown) => {
      throw cliError(EXIT.FAILED, `cannot write ${file}: ${messageOf(error)}`);
    },
  );
  failed.catch(() => undefined);

  const tar = pack();
  const chunks = tar[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  /** Of the archive before compression; all of it without a number. */
  const compress = async (bytes: number): Promise<void> => {
    for (let taken = 0; taken < bytes;) {
      const chunk = await chunks.next();
      if (chunk.done === true) return;
      taken += chunk.value.length;
      // Or the disk is full.
      if (!gzip.write(chunk.value)) await Promise.race([once(gzip, 'drain'), failed]);
    }
    const flushed = new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
    await Promise.race([flushed, failed]);
  };
  const modified = new Date();
  const append = async (name: string, contents: Buffer): Promise<void> => {
    tar.entry({ name, size: contents.length, mode: 0o600, mtime: modified }, contents);
    await compress(BLOCK + Math.ceil(contents.length / BLOCK) * BLOCK);
  };
  return {
    add: async (path, contents) => {
      const bytes = Buffer.from(contents);
      const room = limitBytes - RESERVED_BYTES - written - 2 * BLOCK;
      if (bytes.length > room && gzipSync(bytes).length > room) return false;
      await append(path, bytes);
      return true;
    },
    end: async (path, contents) => {
      await append(path, Buffer.from(contents));
      tar.finalize();
      await compress(Infinity);
      gzip.end();
      await failed;
      return written;
    },
    discard: async () => {
      gzip.destroy();
      output.destroy();
      await rm(file, { force: true });
    },
  };
}
