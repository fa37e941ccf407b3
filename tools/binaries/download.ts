import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { findChecksum, type ReleaseDownload } from './releases';
import { run } from './run-program';
import type { BinarySettings } from './settings';

/**
 * Downloads a release into `directory`, verifies it against its publisher's checksum and unpacks
 * it.
 *
 * @returns the path of the program
 * @throws Error within seconds when no server answers; the caller removes `directory`
 */
export async function downloadRelease(
  release: ReleaseDownload,
  directory: string,
  settings: BinarySettings,
): Promise<string> {
  const expected = await fetchChecksum(release, settings);
  const file = join(directory, release.fileName);
  const actual = await fetchFile(release.url, file, settings);
  if (actual !== expected) {
    throw new Error(`${release.url} has SHA-256 ${actual}, its publisher says ${expected}`);
  }
  if (release.member === undefined) return file;
  await run('tar', ['-xzf', file, '-C', directory, release.member], settings.environment);
  return join(directory, release.member);
}

async function fetchChecksum(release: ReleaseDownload, settings: BinarySettings): Promise<string> {
  const { response, stop } = await request(release.checksumUrl, settings);
  try {
    const checksum = findChecksum(release.checksumFormat, await response.text(), release.fileName);
    if (checksum === undefined) {
      throw new Error(`${release.checksumUrl} has no SHA-256 for ${release.fileName}`);
    }
    return checksum;
  } finally {
    stop();
  }
}

/** Returns the SHA-256 of what was written. */
async function fetchFile(url: string, path: string, settings: BinarySettings): Promise<string> {
  const { response, keepAlive, stop } = await request(url, settings);
  try {
    if (response.body === null) throw new Error(`${url} is empty`);
    const hash = createHash('sha256');
    const observe = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        keepAlive();
        hash.update(chunk);
        done(null, chunk);
      },
    });
    const body = Readable.fromWeb(response.body);
    await pipeline(body, observe, createWriteStream(path));
    return hash.digest('hex');
  } finally {
    stop();
  }
}

interface Answer {
  readonly response: Response;
  readonly keepAlive: () => void;
  readonly stop: () => void;
}

/** Fails after seconds without an answer, and when the body stalls. */
async function request(url: string, settings: BinarySettings): Promise<Answer> {
  const abort = new AbortController();
  const giveUp = (limitMs: number, what: string): NodeJS.Timeout =>
    setTimeout(() => {
      abort.abort(new Error(`${url} ${what} for ${limitMs / 1000} s`));
    }, limitMs);
  let timer = giveUp(settings.answerTimeoutMs, 'did not answer');
  const keepAlive = (): void => {
    clearTimeout(timer);
    timer = giveUp(settings.stallTimeoutMs, 'stood still');
  };
  const stop = (): void => {
    clearTimeout(timer);
  };
  try {
    const response = await fetch(url, { signal: abort.signal, redirect: 'follow' });
    if (!response.ok) throw new Error(`${url} answers ${response.status}`);
    keepAlive();
    return { response, keepAlive, stop };
  } catch (error) {
    stop();
    throw error;
  }
}
