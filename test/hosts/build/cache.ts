/** Slow folders, cached by the digest of their inputs. */

import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { withLock } from '../../../tools/binaries/lock';
import { reportOnStderr, withProgress } from '../../../tools/binaries/progress';
import { readSettings } from '../../../tools/binaries/settings';
import { adoptDirectory } from '../../../tools/processes/watchdog';

/** Has a subfolder for each kind. */
export function cacheFolder(): string {
  return join(readSettings().cacheDirectory, 'hosts');
}

/**
 * Made once, under a lock. The folder gets its name when it is complete. Leftovers and older
 * digests are removed.
 */
export async function cached(
  kind: string,
  digest: string,
  doing: string,
  make: (directory: string) => Promise<void>,
): Promise<string> {
  const finished = join(cacheFolder(), kind, digest);
  if (await exists(finished)) return finished;
  return withLock(`${join(cacheFolder(), kind)}.lock`, doing, async () => {
    if (await exists(finished)) return finished;
    await removeOthers(dirname(finished));
    const partial = await mkdtemp(join(dirname(finished), PARTIAL));
    const disown = adoptDirectory(partial);
    try {
      await withProgress(reportOnStderr, doing, `done: ${doing},`, () => make(partial));
      await rename(partial, finished);
    } finally {
      await rm(partial, { recursive: true, force: true });
      disown();
    }
    return finished;
  });
}

const PARTIAL = '.partial-';
/** Per kind: people switch between states of the sources. */
const KEPT = 2;

async function removeOthers(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const entries = await readdir(directory);
  const finished: { readonly path: string; readonly changed: number }[] = [];
  for (const entry of entries) {
    const path = join(directory, entry);
    if (entry.startsWith(PARTIAL)) await rm(path, { recursive: true, force: true });
    else finished.push({ path, changed: (await stat(path)).mtimeMs });
  }
  finished.sort((a, b) => b.changed - a.changed);
  for (const { path } of finished.slice(KEPT - 1)) await rm(path, { recursive: true, force: true });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
