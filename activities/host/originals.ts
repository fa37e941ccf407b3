/**
 * What was at a path before a config first claimed it, kept in MCO's places: a copy below `orig`, or
 * a stamp below `noorig` that says there was nothing. It comes back when the config drops the path.
 *
 * MCO keeps a copy only of files that an RPM owns; here every file that was there is kept, because
 * whoever put it there wants it back.
 *
 * @see MCO pkg/daemon/update.go, createOrigFile and deleteStaleData (7ff337a4)
 */

import { posix } from 'node:path';
import type { Files, PathState } from './ports';

const BASE = '/etc/machine-config-daemon';

const STAMP = { kind: 'file', content: Buffer.alloc(0), mode: 0o644 } as const;
const ROOT_OWNER = { uid: 0, gid: 0 } as const;

/** Where the copy of an original is kept. */
export function originalPath(path: string): string {
  return `${posix.join(BASE, 'orig', path)}.mcdorig`;
}

/** Where the stamp is that says there was none. */
export function noOriginalPath(path: string): string {
  return `${posix.join(BASE, 'noorig', path)}.mcdnoorig`;
}

/** One path and what should be there. */
export interface PathChange {
  readonly path: string;
  readonly state: PathState;
}

/**
 * What to write before a path is claimed for the first time; nothing when it is known already.
 *
 * @param wasOurs - the previous config had the path, so what is there now is no original
 */
export async function keepOriginal(
  files: Files,
  path: string,
  wasOurs: boolean,
): Promise<readonly PathChange[]> {
  if ((await files.look(noOriginalPath(path))).kind !== 'absent') return [];
  if ((await files.look(originalPath(path))).kind !== 'absent') return [];
  const original = wasOurs ? await vendorCopy(files, path) : await files.look(path);
  return original.kind === 'file' || original.kind === 'symlink'
    ? [{ path: originalPath(path), state: original }]
    : [{ path: noOriginalPath(path), state: { ...STAMP, owner: ROOT_OWNER } }];
}

/** What brings a path back to what it was before any config had it. */
export async function restoreOriginal(files: Files, path: string): Promise<readonly PathChange[]> {
  const absent = { kind: 'absent' } as const;
  const original = await files.look(originalPath(path));
  if (original.kind === 'file' || original.kind === 'symlink') {
    return [
      { path, state: original },
      { path: originalPath(path), state: absent },
    ];
  }
  const stamp = await files.look(noOriginalPath(path));
  return [
    { path, state: absent },
    ...(stamp.kind === 'absent' ? [] : [{ path: noOriginalPath(path), state: absent }]),
  ];
}

/** Image-based systems ship the defaults of `/etc` below `/usr/etc`. */
async function vendorCopy(files: Files, path: string): Promise<PathState> {
  return path.startsWith('/etc/') ? files.look(posix.join('/usr', path)) : { kind: 'absent' };
}
