/** Files that show which programs run on a machine. Read anew for each question. */

import { lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { posix } from 'node:path';
import { type MachineTree, runningLink } from '../../core/machine/tree';
import { hasCode } from './root-paths';
import { UNIT_DIRECTORIES } from './unit-links';
import { realPath } from './watch-probe';

const MAX_LINKS = 40;
/** Links in these start a unit. */
const STARTING = /\.(wants|requires|upholds)$/;

export function createMachineTree(root: string): MachineTree {
  const look = (path: string): Stats | undefined => lookAt(realPath(root, path));
  const list = (directory: string): readonly string[] => {
    const inside = realPath(root, posix.join(directory, 'any'));
    return inside === undefined ? [] : namesIn(posix.dirname(inside));
  };
  const isStarted = (name: string): boolean =>
    UNIT_DIRECTORIES.some((directory) =>
      list(directory).some(
        (entry) => STARTING.test(entry) && look(posix.join(directory, entry, name)) !== undefined,
      ),
    );
  return {
    has: (path) => realFile(root, path) !== undefined,
    list,
    unit(name) {
      const path = UNIT_DIRECTORIES.map((directory) => posix.join(directory, name)).find(
        (candidate) => look(candidate) !== undefined,
      );
      const real = path === undefined ? undefined : realFile(root, path);
      // A mask is a link to /dev/null, or an empty file.
      const isUnit = lookAt(real)?.isFile() === true && lookAt(real)?.size !== 0;
      if (!isUnit) return 'absent';
      return isStarted(name) ? 'enabled' : 'disabled';
    },
    isRunning: (unit) => look(runningLink(unit)) !== undefined,
  };
}

/** With all links resolved inside the root. */
export function realFile(root: string, path: string): string | undefined {
  const base = realpathSync(root);
  let at = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const real = realPath(root, at);
    const stats = lookAt(real);
    if (real === undefined || stats === undefined) return undefined;
    if (!stats.isSymbolicLink()) return real;
    const parent = posix.join('/', posix.relative(base, posix.dirname(real)));
    at = posix.resolve(parent, readlinkSync(real, 'utf8'));
  }
  return undefined;
}

function lookAt(real: string | undefined): Stats | undefined {
  if (real === undefined) return undefined;
  try {
    return lstatSync(real, { throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, 'ENOTDIR')) return undefined;
    throw error;
  }
}

function namesIn(real: string): readonly string[] {
  try {
    return readdirSync(real);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
