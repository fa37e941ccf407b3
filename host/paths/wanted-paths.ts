/** The paths of a rendered config: files, units, drop-ins, SSH keys. */

import { posix } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { isPlainPath } from '../../adapters/host';
import { decodeDataUrl } from '../../core/encoding';
import { fail, failureName } from '../../core/errors';
import { isVerified } from '../../core/machine-config';
import type {
  IgnitionFile,
  IgnitionResource,
  IgnitionUnit,
  IgnitionUser,
  RenderedSpec,
} from '../../core/machine-config/types';
import { SSH_KEYS_FILE } from './ssh-keys';

export const UNIT_DIRECTORY = '/etc/systemd/system';
/** A config may set the keys and the password of this user only. */
export const CORE_USER = 'core';

const DEFAULT_MODE = 0o644;
const SSH_KEYS_MODE = 0o600;
/** Stops a gzip bomb. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** By number, by name, or not at all (root). */
export interface OwnerWish {
  readonly user?: { readonly id?: number; readonly name?: string } | undefined;
  readonly group?: { readonly id?: number; readonly name?: string } | undefined;
}

/** Unset attributes stay. */
interface Appended {
  readonly bytes: Buffer;
  readonly keepsMode: boolean;
  readonly keepsOwner: boolean;
}

export type WantedPath = {
  /** `name` = the path, or the unit. */
  readonly part: 'file' | 'unit' | 'sshKeys';
  readonly name: string;
} & (
  | {
      readonly kind: 'file';
      /** Absent: existing content stays (`overwrite: false` without contents). */
      readonly content?: Buffer;
      readonly mode: number;
      readonly owner: OwnerWish;
      /** Unset mode and owner stay, too. */
      readonly keepsMode?: boolean;
      readonly keepsOwner?: boolean;
      /** To the original of the path; `content` is absent then. */
      readonly appended?: Appended;
    }
  | { readonly kind: 'symlink'; readonly target: string }
  /** An empty drop-in, or a mask to remove. */
  | { readonly kind: 'absent'; readonly onlyMask: boolean }
);

export type WantedPaths = ReadonlyMap<string, WantedPath>;

/** For entries that no host can apply. */
type Inapplicable =
  | 'refused'
  /** The host must be able to leave the config that it is on. */
  | 'leftOut';

/**
 * Of two entries for one path the later counts.
 *
 * `overwrite` is ignored, as in MCO: the config decides, and the original is kept (`originals.ts`).
 * Only `overwrite: false` without contents leaves existing content.
 *
 * @param sshKeysFile - where the keys of this host go (`sshKeysFileOf`)
 * @throws `InvalidMachineConfig` naming the object and field that no host can apply, unless such
 *   entries are left out
 * @see MCO pkg/daemon/file_writers.go (7ff337a4)
 */
export function wantedPaths(
  spec: Pick<RenderedSpec, 'config'>,
  sshKeysFile: string = SSH_KEYS_FILE,
  inapplicable: Inapplicable = 'refused',
): WantedPaths {
  const wanted = new Map<string, WantedPath>();
  const add = (read: () => readonly (readonly [string, WantedPath])[]): void => {
    const entries = inapplicable === 'refused' ? read() : unlessInapplicable(read);
    for (const [path, state] of entries) wanted.set(path, state);
  };
  for (const file of spec.config.storage?.files ?? []) {
    // Only the path of undecodable content is known.
    if (inapplicable === 'leftOut' && isPlainPath(file.path)) wanted.set(file.path, placeOf(file));
    add(() => [[file.path, wantedFile(file)]]);
  }
  for (const unit of spec.config.systemd?.units ?? []) {
    // An empty drop-in gives way to a file of the config at its path.
    add(() =>
      wantedUnit(unit).filter(([path, { kind }]) => kind !== 'absent' || !wanted.has(path)),
    );
  }
  const keys = sshKeys(spec.config.passwd?.users ?? []);
  if (keys !== '') {
    const owner = { user: { name: CORE_USER }, group: { name: CORE_USER } };
    const content = Buffer.from(keys);
    const what = { part: 'sshKeys', name: CORE_USER, kind: 'file' } as const;
    wanted.set(sshKeysFile, { ...what, content, mode: SSH_KEYS_MODE, owner });
  }
  return wanted;
}

function unlessInapplicable<Entry>(read: () => readonly Entry[]): readonly Entry[] {
  try {
    return read();
  } catch (error) {
    const name = failureName(error);
    if (name !== 'InvalidMachineConfig' && name !== 'ConfigTooLarge') throw error;
    return [];
  }
}

function placeOf({ path, mode = DEFAULT_MODE }: IgnitionFile): WantedPath {
  const keeps = { keepsMode: true, keepsOwner: true };
  return { part: 'file', name: path, kind: 'file', mode, owner: {}, ...keeps };
}

function wantedFile(file: IgnitionFile): WantedPath {
  if (!isPlainPath(file.path)) {
    throw invalid(`file ${file.path}: the path is not absolute and normalised`, file.path);
  }
  const plain = {
    part: 'file',
    name: file.path,
    kind: 'file',
    mode: file.mode ?? DEFAULT_MODE,
    owner: { user: file.user, group: file.group },
  } as const;
  const pieces = [file.contents, ...(file.append ?? [])].filter(
    (piece) => piece?.source !== undefined,
  );
  const bytes = (): Buffer => contentOf(file.path, pieces);
  if (file.contents?.source !== undefined) return withContent(plain, bytes);
  const keeps = {
    keepsMode: file.mode === undefined,
    keepsOwner: file.user === undefined && file.group === undefined,
  };
  if (pieces.length > 0) return { ...plain, appended: { bytes: bytes(), ...keeps } };
  return file.overwrite === false ? { ...plain, ...keeps } : withContent(plain, bytes);
}

/** Larger contents are decoded at each use, instead of being held for the whole update. */
const HELD_BYTES = 1024 * 1024;

function withContent<Plain extends object>(
  plain: Plain,
  bytes: () => Buffer,
): Plain & { readonly content: Buffer } {
  const decoded = bytes();
  if (decoded.length <= HELD_BYTES) return { ...plain, content: decoded };
  return {
    ...plain,
    get content() {
      return bytes();
    },
  };
}

/** A file without pieces is empty. */
function contentOf(path: string, pieces: readonly (IgnitionResource | undefined)[]): Buffer {
  const [first, ...others] = pieces.map((piece) => decode(path, piece?.source ?? '', piece));
  if (others.length === 0) return first ?? Buffer.alloc(0);
  return Buffer.concat([first ?? Buffer.alloc(0), ...others]);
}

function decode(path: string, source: string, contents: IgnitionResource | undefined): Buffer {
  // In Ignition, an empty source means no contents.
  if (source === '') return Buffer.alloc(0);
  const decoded = decodeDataUrl(source);
  if (decoded.error !== undefined) {
    throw invalid(
      `file ${path}: contents.source is not a data URL that can be decoded (${decoded.error}); put the content inline`,
      path,
    );
  }
  const bytes = Buffer.from(decoded.bytes);
  switch (contents?.compression ?? '') {
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
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') {
      const text = `file ${path}: contents unpack to more than ${MAX_FILE_BYTES} bytes`;
      throw Object.assign(fail('ConfigTooLarge', text, { object: path }), { cause: error });
    }
    throw Object.assign(invalid(`file ${path}: contents are not gzip (${code})`, path), {
      cause: error,
    });
  }
}

/**
 * As Ignition does before it writes.
 *
 * @throws `InvalidMachineConfig` naming the file
 */
export function refuseWrongHashes(spec: Pick<RenderedSpec, 'config'>): void {
  for (const { path, contents, append = [] } of spec.config.storage?.files ?? []) {
    for (const piece of [contents, ...append]) {
      const { source = '', verification } = piece ?? {};
      if (source === '' || verification?.hash === undefined) continue;
      if (isVerified(decode(path, source, piece), verification.hash)) continue;
      throw invalid(
        `file ${path}: the contents are not those that verification.hash is of; correct it, or leave verification out`,
        path,
      );
    }
  }
}

/** A mask hides the unit's contents, but not its drop-ins. */
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

/**
 * One per line. Keys of other users must not work for `core`: Ignition makes those users on a new
 * machine, and later changes are refused.
 */
function sshKeys(users: readonly IgnitionUser[]): string {
  return users
    .filter(({ name }) => name === CORE_USER)
    .flatMap((user) => user.sshAuthorizedKeys ?? [])
    .map((key) => `${key}\n`)
    .join('');
}

export function hasSshKeys(spec: Pick<RenderedSpec, 'config'>): boolean {
  return sshKeys(spec.config.passwd?.users ?? []) !== '';
}

/** Undefined = the config does not set one. */
export function passwordHash(spec: Pick<RenderedSpec, 'config'>): string | undefined {
  return spec.config.passwd?.users?.find(({ name }) => name === CORE_USER)?.passwordHash;
}

function invalid(message: string, object: string): Error {
  return fail('InvalidMachineConfig', message, { object });
}
