/** Without holding files in memory. */

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { fail, failureName } from '../../core/errors';
import { type Disk, syncDirectories, withHandle, withParent } from './disk';
import { hasCode, lookUp } from './root-paths';
import type { FilePart } from './path-state';

const PIECE_BYTES = 1024 * 1024;
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface Packed {
  readonly offset: number;
  readonly size: number;
  readonly sha256: string;
}

/** @throws `RollbackFailed` when the checksum differs */
export async function* piecesOf(disk: Disk, part: FilePart): AsyncGenerator<Buffer> {
  const parent = disk.parentOf(part.path);
  if (parent === undefined) throw gone(part.path);
  try {
    const handle = await disk.fs.open(parent.target, READ_ONLY);
    try {
      const hash = part.sha256 === undefined ? undefined : createHash('sha256');
      let at = part.offset ?? 0;
      let left = part.size ?? Number.POSITIVE_INFINITY;
      const length = Math.min(PIECE_BYTES, Math.max(1, (await handle.stat()).size));
      while (left > 0) {
        const piece = Buffer.allocUnsafe(Math.min(length, left));
        const { bytesRead } = await handle.read(piece, 0, piece.length, at);
        if (bytesRead === 0) break;
        at += bytesRead;
        left -= bytesRead;
        hash?.update(piece.subarray(0, bytesRead));
        yield piece.subarray(0, bytesRead);
      }
      if (hash !== undefined && hash.digest('hex') !== part.sha256) throw damaged(part.path);
    } finally {
      await handle.close();
    }
  } finally {
    parent.close();
  }
}

/** The part exists and has its checksum. */
export async function isWhole(disk: Disk, part: FilePart): Promise<boolean> {
  let size = 0;
  try {
    for await (const piece of piecesOf(disk, part)) size += piece.length;
  } catch (error) {
    if (failureName(error) === 'RollbackFailed' || hasCode(error, 'ENOENT')) return false;
    throw error;
  }
  return part.size === undefined || size === part.size;
}

export async function writeContent(
  disk: Disk,
  handle: FileHandle,
  content: Buffer | FilePart,
): Promise<void> {
  if (Buffer.isBuffer(content)) {
    await handle.writeFile(content);
    return;
  }
  for await (const piece of piecesOf(disk, content)) await handle.writeFile(piece);
}

export async function holds(
  disk: Disk,
  path: string,
  content: Buffer | FilePart,
): Promise<boolean> {
  const parent = disk.parentOf(path);
  if (parent === undefined) return false;
  let size: number | undefined;
  try {
    const stats = lookUp(disk.fs, parent.target);
    size = stats?.isFile() === true ? stats.size : undefined;
  } finally {
    parent.close();
  }
  const expected = Buffer.isBuffer(content) ? content.length : content.size;
  if (size === undefined || (expected !== undefined && size !== expected)) return false;
  if (Buffer.isBuffer(content)) return holdsBuffer(disk, path, content);
  const ours = piecesOf(disk, { path });
  for await (const theirs of piecesOf(disk, content)) {
    // Regular files are read in full pieces, so both have the same size.
    const piece = await ours.next();
    if (piece.done === true || !theirs.equals(piece.value)) return await stop(ours);
  }
  return (await ours.next()).done === true ? true : await stop(ours);
}

async function stop(pieces: AsyncGenerator<Buffer>): Promise<false> {
  await pieces.return(undefined);
  return false;
}

/** A drift check does this for every small file. */
async function holdsBuffer(disk: Disk, path: string, content: Buffer): Promise<boolean> {
  if (content.length <= PIECE_BYTES) return readSmall(disk, path).equals(content);
  let at = 0;
  for await (const piece of piecesOf(disk, { path })) {
    if (!content.subarray(at, at + piece.length).equals(piece)) return false;
    at += piece.length;
  }
  return at === content.length;
}

function readSmall(disk: Disk, path: string): Buffer {
  const parent = disk.parentOf(path);
  if (parent === undefined) throw gone(path);
  try {
    const fd = disk.fs.openSync(parent.target, READ_ONLY);
    try {
      return disk.fs.readFileSync(fd);
    } finally {
      disk.fs.closeSync(fd);
    }
  } finally {
    parent.close();
  }
}

export async function pack(
  disk: Disk,
  path: string,
  sources: readonly string[],
): Promise<readonly Packed[]> {
  const flags = constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW | constants.O_APPEND;
  const packed: Packed[] = [];
  const created = await withParent(disk, path, async ({ target }) => {
    const isNew = lookUp(disk.fs, target) === undefined;
    await withHandle(await disk.fs.open(target, flags, 0o600), async (handle) => {
      let offset = (await handle.stat()).size;
      for (const source of sources) {
        const hash = createHash('sha256');
        let size = 0;
        for await (const piece of piecesOf(disk, { path: source })) {
          await handle.writeFile(piece);
          hash.update(piece);
          size += piece.length;
        }
        packed.push({ offset, size, sha256: hash.digest('hex') });
        offset += size;
      }
      if (disk.sync) await handle.sync();
    });
    return isNew;
  });
  if (created) await syncDirectories(disk, [posix.dirname(path)]);
  return packed;
}

function gone(path: string): Error {
  return Object.assign(new Error(`${path} is gone`), { code: 'ENOENT', path });
}

function damaged(path: string): Error {
  return fail('RollbackFailed', `read ${path}: its bytes do not match their checksum`, { path });
}
