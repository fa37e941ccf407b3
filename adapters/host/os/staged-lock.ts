/**
 * While the lock of the staged deployment is held, an unplanned reboot boots the earlier one. Up to
 * 2023.7 it is a file. Since 2023.8 `ostree admin lock-finalization` sets it in the deployment; the
 * file still counts, but is removed when a deployment is staged over another.
 *
 * @see https://ostreedev.github.io/ostree/deployment/
 */

import { access, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fail } from '../../../core/errors';
import type { RunProgram } from './program';

const LOCK_FILE = 'run/ostree/staged-deployment-locked';
const KEEPS_LOCK_SINCE = [2023, 8] as const;

interface StagedLock {
  /** @param reported - the state that the driver's program shows */
  isHeld(reported: boolean): Promise<boolean>;
  /** The next staged deployment is then locked from its first moment. */
  prepare(): Promise<void>;
  hold(): Promise<void>;
  release(): Promise<void>;
  /** When nothing is staged, the file must not lock deployments of others. */
  forget(): Promise<void>;
}

export function createStagedLock({
  root,
  run,
}: {
  readonly root: string;
  readonly run: RunProgram;
}): StagedLock {
  const file = join(root, LOCK_FILE);
  let known: Promise<boolean> | undefined;
  /** Programs of a running system change only by a reboot. */
  const keepsLock = (): Promise<boolean> => (known ??= isNew(run));
  const prepare = async (): Promise<void> => {
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await (await open(file, 'a', 0o640)).close();
  };
  const forget = (): Promise<void> => rm(file, { force: true });

  return {
    async isHeld(reported) {
      if (await exists(file)) return true;
      // On older versions only the file counts.
      return reported && (await keepsLock());
    },
    prepare,
    async hold() {
      if (await keepsLock()) await run('ostree', ['admin', 'lock-finalization']);
      else await prepare();
    },
    async release() {
      await forget();
      if (await keepsLock()) await run('ostree', ['admin', 'lock-finalization', '--unlock']);
    },
    forget,
  };
}

async function isNew(run: RunProgram): Promise<boolean> {
  const output = await run('ostree', ['--version']);
  const version = /^\s*Version: '?(\d+)\.(\d+)/m.exec(output);
  if (version === null) {
    throw fail('OsCommandFailed', `ostree --version names no version but '${output.slice(0, 60)}'`);
  }
  const [year, release] = [Number(version[1]), Number(version[2])];
  const [firstYear, firstRelease] = KEEPS_LOCK_SINCE;
  return year > firstYear || (year === firstYear && release >= firstRelease);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
