import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { adoptDirectory } from '../../../tools/processes/watchdog';
import type { Lifetime } from '../lifetime';

/** Removed at the end, and also when this process dies. */
export async function temporaryDirectory(lifetime: Lifetime, prefix: string): Promise<string> {
  const directory = await lifetime.own(
    () => mkdtemp(join(tmpdir(), prefix)),
    (created) => rm(created, { recursive: true, force: true }),
  );
  await lifetime.own(
    () => adoptDirectory(directory),
    (disown) => disown(),
  );
  return directory;
}
