/** From a rendered config to the paths that it wants on disk: files, units, drop-ins, SSH keys. */

import { posix } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { isPlainPath } from '../../adapters/host';
import { decodeDataUrl } from '../../core/encoding';
import { fail } from '../../core/errors';
import type {
  IgnitionFile,
  IgnitionResource,
  IgnitionUnit,
  IgnitionUser,
  RenderedSpec,
} from '../../core/machine-config/types';

export const UNIT_DIRECTORY = '/etc/systemd/system';
export const SSH_KEYS_FILE = '/home/core/.ssh/authorized_keys.d/ignition';
/** The user whose keys and password a config may set. */
export const CORE_USER = 'core';

const DEFAULT_MODE = 0o644;
const SSH_KEYS_MODE = 0o600;
/** A gzip bomb stops here; no config holds a file as big as this. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** An owner as configs name it: by number, by name, or not at all (root). */
export interface OwnerWish {
  readonly user?: { readonly id?: number; readonly name?: string } | undefined;
  readonly group?: { readonly id?: number; readonly name?: string } | undefined;
}

/** What a config wants at one path. */
export type WantedPath = {
  /** Which part of the config it comes from; `name` = the path, or the unit. */
  readonly part: 'file' | 'unit' | 'sshKeys';
  readonly name: string;
} & (
  | {
      readonly kind: 'file';
      /** Absent = whatever is there stays (`overwrite: false` without contents). */
      readonly content?: Buffer;
      readonly mode: number;
      readonly owner: OwnerWish;
    }
  /** A masked unit. */
  | { readonly kind: 'symlink'; readonly target: string }
  /** An empty drop-in, or a mask that is taken away. */
  | { readonly kind: 'absent'; readonly onlyMask: boolean }
);

export type WantedPaths = ReadonlyMap<string, WantedPath>;

/**
 * Every path that a config wants, by path. Of two entries for one path the later one counts.
 *
 * `overwrite` is not looked at, as in MCO: the config says what the disk should be, and what was there
 * before is kept (`originals.ts`) and comes back when the config no longer has the path. Only a file
 * with `overwrite: false` and no contents leaves existing content alone, which is all it can mean.
 *
 * @throws `InvalidMachineConfig` naming the object and field that no host can apply
 * @see MCO pkg/daemon/file_writers.go (7ff337a4)
 */
export function wantedPaths(spec: Pick<RenderedSpec, 'config'>): WantedPaths {
  const wanted = new Map<string, WantedPath>();
  for (const file of spec.config.storage?.files ?? []) wanted.set(file.path, wantedFile(file));
  for (const unit of spec.config.systemd?.units ?? []) {
    for (const [path, state] of wantedUnit(unit)) wanted.set(path, state);
  }
  const keys = sshKeys(spec.config.passwd?.users ?? []);
  if (keys !== '') {
    const owner = { user: { name: CORE_USER }, group: { name: CORE_USER } };
    const content = Buffer.from(keys);
    const what = { part: 'sshKeys', name: CORE_USER, kind: 'file' } as const;
    wanted.set(SSH_KEYS_FILE, { ...what, content, mode: SSH_KEYS_MODE, owner });
  }
  return wanted;
}

function wantedFile(file: IgnitionFile): WantedPath {
  if (!isPlainPath(file.path)) {
    throw invalid(`file ${file.path}: the path is not absolute and normalised`, file.path);
  }
  if ((file.append ?? []).length > 0) {
    throw invalid(`file ${file.path}: append cannot be applied to a running machine`, file.path);
  }
  const keeps = file.overwrite === false && file.contents?.source === undefined;
  return {
    part: 'file',
    name: file.path,
    kind: 'file',
    ...(keeps ? {} : { content: fileContent(file.path, file.contents) }),
    mode: file.mode ?? DEFAULT_MODE,
    owner: { user: file.user, group: file.group },
  };
}

/** The decoded bytes of a file. A file without a source is empty. */
function fileContent(path: string, contents: IgnitionResource | undefined): Buffer {
  if (contents?.source === undefined) return Buffer.alloc(0);
  const decoded = decodeDataUrl(contents.source);
  if (decoded.error !== undefined) {
    throw invalid(
      `file ${path}: contents.source is not a data URL that can be decoded (${decoded.error}); put the content inline`,
      path,
    );
  }
  const bytes = Buffer.from(decoded.bytes);
  switch (contents.compression ?? '') {
    case '':
      return bytes;
    case 'gzip':
      return gunzip(path, bytes);
    default:
      throw invalid(`file ${path}: contents.compression must be empty or gzip`, path);
  }
}

function gunzip(path: string, bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_FILE_BYTES });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw Object.assign(invalid(`file ${path}: contents are not gzip (${code})`, path), {
      cause: error,
    });
  }
}

/** A mask hides the unit's own contents; drop-ins are written all the same. */
function wantedUnit(unit: IgnitionUnit): readonly (readonly [string, WantedPath])[] {
  const found: [string, WantedPath][] = [];
  const part = { part: 'unit', name: unit.name } as const;
  const text = (contents: string): WantedPath => ({
    ...part,
    kind: 'file',
    content: Buffer.from(contents),
    mode: DEFAULT_MODE,
    owner: {},
  });
  for (const dropin of unit.dropins ?? []) {
    const contents = dropin.contents ?? '';
    found.push([
      unitPath(unit.name, `${unit.name}.d`, dropin.name),
      contents === '' ? { ...part, kind: 'absent', onlyMask: false } : text(contents),
    ]);
  }
  const path = unitPath(unit.name, unit.name);
  if (unit.mask === true) found.push([path, { ...part, kind: 'symlink', target: '/dev/null' }]);
  else if ((unit.contents ?? '') !== '') found.push([path, text(unit.contents ?? '')]);
  else if (unit.mask === false) found.push([path, { ...part, kind: 'absent', onlyMask: true }]);
  return found;
}

function unitPath(unit: string, ...parts: readonly string[]): string {
  if (parts.some((part) => part.includes('/') || part === '' || part === '..' || part === '.d')) {
    throw invalid(`unit ${unit}: a unit or drop-in name must be a plain file name`, unit);
  }
  return posix.join(UNIT_DIRECTORY, ...parts);
}

/** Keys of all users, one per line, as MCO writes them. */
function sshKeys(users: readonly IgnitionUser[]): string {
  return users
    .flatMap((user) => user.sshAuthorizedKeys ?? [])
    .map((key) => `${key}\n`)
    .join('');
}

/** The password hash for `core`; undefined = the config does not set one. */
export function passwordHash(spec: Pick<RenderedSpec, 'config'>): string | undefined {
  return spec.config.passwd?.users?.find(({ name }) => name === CORE_USER)?.passwordHash;
}

function invalid(message: string, object: string): Error {
  return fail('InvalidMachineConfig', message, { object });
}
