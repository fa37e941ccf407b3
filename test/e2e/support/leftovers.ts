/** Temporary files of the host, which must be gone when it is at rest. */

import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Beside each path that the host writes, until the new file takes its name. */
const TEMPORARY = /^\.slipway-[0-9a-f]{16}$/;
/** Space that an update reserves for rollback, on each file system that it changes. */
const ROOM = /^\.slipway-room$/;
/** Its journal, and the reserved space of that file system. */
const STATE = '/var/lib/slipway';

/**
 * Temporary files below `/etc` and beside the paths of the configs. In other places the host may write at any
 * time.
 */
export async function temporaryFiles(
  root: string,
  paths: Iterable<string>,
): Promise<readonly string[]> {
  const beside = [...new Set([...paths].map((path) => dirname(path)))];
  const found = [
    ...(await named(root, '/etc', TEMPORARY, true)),
    ...(await Promise.all(beside.map((path) => named(root, path, TEMPORARY)))).flat(),
  ];
  return [...new Set(found)].sort().map((path) => `${path} is there, which a write has left`);
}

/** An update releases it as its last action, after its Node is done. */
export async function roomLeft(root: string): Promise<readonly string[]> {
  const tops = (await readdir(root, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `/${name}`);
  const places = await Promise.all(tops.map((path) => named(root, path, ROOM)));
  const found = [...places.flat(), ...(await named(root, STATE, ROOM, true))];
  return found.map((path) => `${path} is there, and no update keeps it`);
}

async function named(
  root: string,
  path: string,
  pattern: RegExp,
  recursive = false,
): Promise<readonly string[]> {
  const names = await readdir(join(root, path), { recursive }).catch(() => []);
  return names
    .filter((name) => pattern.test(name.slice(name.lastIndexOf('/') + 1)))
    .map((name) => join(path, name));
}
