import { posix } from 'node:path';
import type { HostFiles } from './files';
import { SEAL_BYTES } from './journal-seal';
import { ROOT_OWNER } from './path-state';

/** One directory per unfinished update. */
export const JOURNAL_DIRECTORY = '/var/lib/slipway/journal';

/** People recognise the order by its name. */
export function directoryFor(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 200) || 'order';
  return posix.join(JOURNAL_DIRECTORY, plain);
}

export function logPath(directory: string): string {
  return posix.join(directory, 'log');
}

/** Contents that are too big for the log. */
export function packPath(directory: string): string {
  return posix.join(directory, 'pack');
}

/** How much of the log is durable; reserves space for the marks of an undo. */
export function sealPath(directory: string): string {
  return posix.join(directory, 'seal');
}

/** Only root may enter them. */
export async function makeDirectories(files: HostFiles, directory: string): Promise<void> {
  for (const path of pathsDownTo(directory)) {
    const mode = path.startsWith('/var/lib/slipway') ? 0o700 : 0o755;
    await files.makeDirectory(path, { mode, owner: ROOT_OWNER });
  }
}

function pathsDownTo(directory: string): readonly string[] {
  const parts = directory.split('/').slice(1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

export async function giveUpReserve(files: HostFiles, directory: string): Promise<void> {
  await files.truncate(sealPath(directory), SEAL_BYTES);
}

/**
 * The log goes first: without it the seal closes the rest. The seal goes when that is durable,
 * because a power cut may keep any of several removed names.
 */
export async function dropJournal(files: HostFiles, directory: string): Promise<void> {
  for (const parts of [[logPath, packPath], [sealPath]]) {
    const paths = parts.map((path) => path(directory));
    await files.change(paths.map((path) => ({ path, state: { kind: 'absent' } })));
  }
  await files.removeDirectory(directory);
}
