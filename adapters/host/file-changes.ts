/**
 * Changes many paths cheaply: temporary files are written in parallel, attributes take one process
 * per batch, and each directory is synced once.
 */

import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { createHash } from 'node:crypto';
import { type Attributes, attributesKept } from './attributes';
import { type Disk, missingParent, syncDirectories, toldOf, withHandle } from './disk';
import { writeContent } from './file-parts';
import type { FileSystem } from './file-system';
import { hasCode, lookUp, type Parent } from './root-paths';
import type { AttributesWish, PathChange, WantedDirectory, WantedState } from './path-state';

/** Called between changes: stops at the signal. */
export interface ChangeStep {
  readonly signal?: AbortSignal;
  readonly onChange?: (path: string) => void;
}

/** Stays below the usual limit of open files. */
const BATCH = 64;

const LABEL = 'security.selinux';
const SET_ID_BITS = 0o6000;
const O_PATH = 0o10000000;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const NEW_DIRECTORY_MODE = 0o700;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** In their order. @throws an error with the `path` at fault */
export async function changeAll(
  disk: Disk,
  changes: readonly PathChange[],
  step: ChangeStep = {},
): Promise<void> {
  const made: Made = { directories: new Set(), labelless: [] };
  try {
    for (const batch of batchesOf(changes)) await changeBatch(disk, batch, step, made);
  } finally {
    // Also after a failure: the undo compares with the disk.
    await syncDirectories(disk, made.directories);
  }
  await disk.relabel(made.labelless);
}

interface Made {
  readonly directories: Set<string>;
  /** Written with no label of their own. */
  readonly labelless: string[];
}

/** A path twice in a batch would share its temporary name. */
function batchesOf(changes: readonly PathChange[]): readonly (readonly PathChange[])[] {
  const batches: PathChange[][] = [];
  let paths = new Set<string>();
  for (const change of changes) {
    const batch = batches.at(-1);
    if (batch === undefined || batch.length >= BATCH || paths.has(change.path)) {
      batches.push([change]);
      paths = new Set([change.path]);
    } else {
      batch.push(change);
      paths.add(change.path);
    }
  }
  return batches;
}

interface Prepared {
  readonly change: PathChange;
  readonly parent: Parent;
  /** Without it the target is removed. */
  readonly temporary?: string;
  readonly handle?: FileHandle;
}

async function changeBatch(
  disk: Disk,
  batch: readonly PathChange[],
  step: ChangeStep,
  made: Made,
): Promise<void> {
  const prepared: Prepared[] = [];
  let done = 0;
  try {
    for (const change of batch) {
      step.signal?.throwIfAborted();
      await blaming(change.path, async () => {
        const next = await prepare(disk, change, made);
        if (next !== undefined) prepared.push(next);
      });
    }
    await giveAttributes(disk, prepared, made);
    if (disk.sync) await Promise.all(prepared.map(syncContent));
    for (const one of prepared) {
      step.signal?.throwIfAborted();
      await blaming(one.change.path, () => finish(disk, one, made));
      done += 1;
      step.onChange?.(one.change.path);
    }
  } catch (error) {
    for (const { temporary } of prepared.slice(done)) {
      // The first failure counts; the next write or an undo sweeps the leftovers.
      if (temporary !== undefined) await removeAny(disk.fs, temporary).catch(() => false);
    }
    throw error;
  } finally {
    for (const { handle, parent } of prepared) {
      await handle?.close();
      parent.close();
    }
  }
}

/** An error on a descriptor names no path. */
function syncContent({ change, handle }: Prepared): Promise<void> {
  return blaming(change.path, async () => handle?.sync());
}

/** Directories are made at once, because later changes may be inside. */
async function prepare(disk: Disk, change: PathChange, made: Made): Promise<Prepared | undefined> {
  const { path, state } = change;
  if (state.kind === 'directory') {
    const is = await makeDirectory(disk, path, state);
    if (is === 'there') return undefined;
    made.directories.add(posix.dirname(path));
    if (is === 'made without a label') made.labelless.push(path);
    return undefined;
  }
  const parent = disk.parentOf(path);
  if (parent === undefined) {
    if (state.kind === 'absent') return undefined;
    throw missingParent(path);
  }
  try {
    const written = await writeTemporary(disk, path, parent, state);
    return { change, parent, ...written };
  } catch (error) {
    parent.close();
    throw error;
  }
}

async function writeTemporary(
  disk: Disk,
  path: string,
  parent: Parent,
  state: WantedState,
): Promise<Pick<Prepared, 'temporary' | 'handle'>> {
  if (state.kind === 'absent' || state.kind === 'directory') return {};
  const temporary = temporaryIn(parent);
  await removeTemporary(disk.fs, temporary);
  if (state.kind === 'symlink') {
    await disk.fs.symlink(state.target, temporary);
    return { temporary };
  }
  const handle = await disk.fs.open(temporary, NEW_FILE, 0o600);
  try {
    await disk.ownership.set(path, handle, state.owner);
    await handle.chmod(state.mode);
    await writeContent(disk, handle, state.content);
    // Writing clears these bits unless the writer is privileged.
    if ((state.mode & SET_ID_BITS) !== 0) await handle.chmod(state.mode);
    return { temporary, handle };
  } catch (error) {
    await handle.close();
    await removeAny(disk.fs, temporary).catch(() => false);
    throw error;
  }
}

/** Before the file takes its place. */
async function giveAttributes(
  disk: Disk,
  prepared: readonly Prepared[],
  made: Made,
): Promise<void> {
  const opened: number[] = [];
  const open = (target: string): number => {
    const fd = disk.fs.openSync(target, O_PATH | constants.O_NOFOLLOW);
    opened.push(fd);
    return fd;
  };
  try {
    const wishes = prepared.flatMap((one) => {
      const { temporary } = one;
      if (temporary === undefined) return [];
      return [
        {
          one,
          temporary,
          wish: 'attributes' in one.change.state ? one.change.state.attributes : undefined,
        },
      ];
    });
    const sources = wishes.map(({ one, wish }) => sourceOf(disk, one, wish, open));
    const known = sources.filter((fd) => fd !== undefined);
    const found = new Map(
      (await disk.attributes.read(known)).map((attributes, index) => [known[index], attributes]),
    );
    const writes = wishes.flatMap(({ one, temporary, wish }, index) => {
      const source = sources[index];
      const attributes = attributesFor(wish, source === undefined ? {} : (found.get(source) ?? {}));
      // A new file, or one with an unreadable label.
      if (attributes[LABEL] === undefined) made.labelless.push(one.change.path);
      return Object.keys(attributes).length === 0
        ? []
        : [{ path: one.change.path, temporary, attributes }];
    });
    const isWritten = await disk.attributes.write(
      writes.map(({ temporary, attributes }) => ({ fd: open(temporary), attributes })),
    );
    if (!isWritten) made.labelless.push(...writes.map(({ path }) => path));
  } finally {
    for (const fd of opened) disk.fs.closeSync(fd);
  }
}

function sourceOf(
  disk: Disk,
  one: Prepared,
  wish: AttributesWish | undefined,
  open: (target: string) => number,
): number | undefined {
  if (wish === undefined || 'exactly' in wish) return undefined;
  if ('keep' in wish) {
    const stats = lookUp(disk.fs, one.parent.target);
    return stats?.isFile() === true ? open(one.parent.target) : undefined;
  }
  const parent = disk.parentOf(wish.of);
  if (parent === undefined) throw missingParent(wish.of);
  try {
    return open(parent.target);
  } finally {
    parent.close();
  }
}

function attributesFor(wish: AttributesWish | undefined, found: Attributes): Attributes {
  if (wish === undefined) return {};
  if ('exactly' in wish) return wish.exactly;
  return 'keep' in wish ? attributesKept(found) : found;
}

async function finish({ fs }: Disk, one: Prepared, made: Made): Promise<void> {
  const { parent, temporary } = one;
  if (temporary !== undefined) await fs.rename(temporary, parent.target);
  else if (!(await removeAny(fs, parent.target))) return;
  made.directories.add(posix.dirname(one.change.path));
}

/**
 * Made under a temporary name until owner, mode and attributes are set, unless root's defaults are
 * right.
 *
 * @returns `there` when something exists already; it is not changed
 */
export async function makeDirectory(
  disk: Disk,
  path: string,
  { mode, owner, attributes: { exactly } = { exactly: {} } }: WantedDirectory,
): Promise<'there' | 'made' | 'made without a label'> {
  const { fs } = disk;
  const parent = disk.parentOf(path);
  if (parent === undefined) throw missingParent(path);
  let isLabelled = false;
  try {
    // A link to a directory will do.
    if (lookUp(fs, parent.target) !== undefined) return 'there';
    const isAsMade = isMadeSo({ mode, owner }) && Object.keys(exactly).length === 0;
    const made = isAsMade ? parent.target : temporaryIn(parent);
    if (!isAsMade) await removeTemporary(fs, made);
    await fs.mkdir(made, { mode: NEW_DIRECTORY_MODE });
    try {
      await withHandle(await fs.open(made, DIRECTORY), async (handle) => {
        await disk.ownership.set(path, handle, owner);
        await handle.chmod(mode);
        const isWritten = await disk.attributes.write([{ fd: handle.fd, attributes: exactly }]);
        isLabelled = isWritten && exactly[LABEL] !== undefined;
        if (disk.sync) await handle.sync();
      });
      // A rename would replace an empty directory that another program made meanwhile.
      if (!isAsMade && lookUp(fs, parent.target) !== undefined) {
        await fs.rmdir(made);
        return 'there';
      }
      if (!isAsMade) await fs.rename(made, parent.target);
    } catch (error) {
      await fs.rmdir(made).catch(() => undefined);
      throw error;
    }
    return isLabelled ? 'made' : 'made without a label';
  } finally {
    parent.close();
  }
}

function isMadeSo({ mode, owner: { uid, gid } }: WantedDirectory): boolean {
  return mode === NEW_DIRECTORY_MODE && uid === 0 && gid === 0;
}

/** Removes the leftovers of a crash. */
export async function removeTemporary(fs: FileSystem, temporary: string): Promise<void> {
  if (lookUp(fs, temporary)?.isDirectory() === true) await fs.rmdir(temporary);
  else await removeAny(fs, temporary);
}

/** False when there was nothing. The system refuses directories. */
async function removeAny(fs: FileSystem, target: string): Promise<boolean> {
  try {
    if (lookUp(fs, target) === undefined) return false;
    await fs.unlink(target);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** One name per target: the next write or an undo finds the leftovers of a crash. */
export function temporaryIn(parent: Pick<Parent, 'directory' | 'name'>): string {
  const name = createHash('sha256').update(parent.name).digest('hex').slice(0, 16);
  return `${parent.directory}/.slipway-${name}`;
}

async function blaming(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw toldOf(path, error);
  }
}
