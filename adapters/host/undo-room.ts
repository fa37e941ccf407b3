/**
 * Reserves disk space before any change, as much as the before-images need on each file system. An
 * undo that finds the disk full frees it.
 */

import { posix } from 'node:path';
import type { HostFiles } from './files';
import type { BeforeImages } from './before-images';
import type { BeforeImage } from './journal-log';

/** The least that a file takes. */
const BLOCK_BYTES = 4096;
/** With less space, the undo restores one file after another. */
const ENOUGH_BYTES = 16 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
const ROOM_NAME = '.slipway-room';

/**
 * Files to make, with their bytes.
 *
 * @param directory - of the journal, which holds the reserve of its own file system
 */
export async function roomFor(
  files: HostFiles,
  directory: string,
  images: BeforeImages,
): Promise<ReadonlyMap<string, number>> {
  const beside = roomBeside(directory);
  const devices = new Map<string, number>();
  const deviceOf = async (path: string): Promise<number> => {
    const parent = posix.dirname(path);
    const device = devices.get(parent) ?? (await files.room(path)).device;
    devices.set(parent, device);
    return device;
  };
  const places = new Map([[await deviceOf(beside), { path: beside, sum: 0, largest: 0 }]]);
  for (const [path, image] of images) {
    const bytes = bytesOf(image);
    if (bytes === 0) continue;
    const device = await deviceOf(path);
    const place = places.get(device) ?? {
      path: await placeFor(deviceOf, path, device),
      sum: 0,
      largest: 0,
    };
    place.sum += bytes;
    place.largest = Math.max(place.largest, bytes);
    places.set(device, place);
  }
  const wanted = [...places.values()].filter(({ sum }) => sum > 0);
  return new Map(
    wanted.map(({ path, sum, largest }) => [path, Math.min(sum, Math.max(largest, ENOUGH_BYTES))]),
  );
}

export function roomBeside(directory: string): string {
  return posix.join(directory, ROOM_NAME);
}

/** In `/etc` itself: programs may read all files of a directory below. */
async function placeFor(
  deviceOf: (path: string) => Promise<number>,
  path: string,
  device: number,
): Promise<string> {
  const high = posix.join('/', path.split('/')[1] ?? '', ROOM_NAME);
  const isThere = posix.dirname(path) === '/' || (await deviceOf(high)) === device;
  return isThere ? high : posix.join(posix.dirname(path), ROOM_NAME);
}

function bytesOf(image: BeforeImage): number {
  if (image.kind === 'absent' || image.kind === 'directory') return 0;
  if (image.kind === 'symlink') return BLOCK_BYTES;
  const size = 'packed' in image ? image.packed.size : Math.ceil((image.content.length * 3) / 4);
  return Math.max(1, Math.ceil(size / BLOCK_BYTES)) * BLOCK_BYTES;
}

/** A file system may store zeros without using space. */
export async function takeRoom(files: HostFiles, path: string, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; left -= PIECE_BYTES) {
    await files.append(path, Buffer.alloc(Math.min(left, PIECE_BYTES), 'slipway '));
  }
}
