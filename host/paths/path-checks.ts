/** Finds what prevents a config on this host, before anything is changed. */

import { fail } from '../../core/errors';
import { heldPaths, hostPaths, withAppended } from './appended';
import { contentsLimit, refuseManyPaths } from '../update/config-limits';
import { diskFailure } from '../disk-failure';
import { ownerOf, refuseObstacle } from './path-changes';
import type { HostPorts } from '../ports';
import { ancestors, type HostConfig } from '../records/configs';
import { refuseSameFile } from './same-file';
import { CORE_USER, passwordHash, refuseWrongHashes, type WantedPath } from './wanted-paths';

type Ports = Pick<HostPorts, 'files' | 'users' | 'now'>;

/** For the journal, metadata, and meanwhile written files. */
const SPARE_BYTES = 1024 * 1024;

/**
 * Present state, parent directories, owners, and free space. Changes nothing.
 *
 * @param from - the config that the host is on; absent: none
 * @throws `ApplyFailed` naming the path, user or directory; `InvalidMachineConfig` for content that
 *   cannot be decoded; `ConfigTooLarge`
 */
export async function checkPaths(
  ports: Ports,
  from: HostConfig | undefined,
  to: HostConfig,
): Promise<void> {
  refuseManyPaths(to);
  const take = contentsLimit(to);
  const old = from === undefined ? undefined : await heldPaths(ports.files, from.spec);
  const room = new Room(ports);
  const parents = new Parents(ports);
  const desired = await hostPaths(ports.files, to.spec);
  for (const [path, entry] of desired) {
    if (entry.kind === 'absent') continue;
    await parents.check(path);
    const wanted = await withAppended(ports.files, path, entry, old?.get(path));
    const now = await ports.files.facts(path);
    refuseObstacle(path, now);
    if (wanted.kind === 'file') await ownerOf(ports, wanted.owner);
    const size = sizeOf(wanted);
    take(path, size);
    await room.take(path, size);
    if (now.kind !== 'file') continue;
    // For its before-image, perhaps its original, and its restoration.
    await room.take('/var/lib/slipway/journal', now.size);
    await room.take(path, now.size);
  }
  await refuseSameFile(ports.files, old, desired);
  refuseWrongHashes(to.spec);
  const hash = passwordHash(to.spec);
  if (hash !== undefined) await ports.users.shadowWith(CORE_USER, hash, ports.now());
  room.refuseShortage();
}

function sizeOf(wanted: WantedPath): number {
  return wanted.kind === 'file' ? (wanted.content?.length ?? 0) : 0;
}

/** A config may have thousands of files in one directory. */
class Parents {
  readonly #seen = new Set<string>();
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async check(path: string): Promise<void> {
    for (const parent of ancestors(path)) {
      if (this.#seen.has(parent)) continue;
      this.#seen.add(parent);
      const { kind } = await this.#ports.files.facts(parent);
      if (kind !== 'file' && kind !== 'other') continue;
      throw fail('ApplyFailed', `write ${path}: its parent ${parent} is not a directory`, { path });
    }
  }
}

class Room {
  readonly #byDirectory = new Map<string, { device: number; bytes: number }>();
  readonly #needed = new Map<number, { bytes: number; path: string; free: number }>();
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** @throws `ApplyFailed` when the file system is read-only */
  async take(path: string, bytes: number): Promise<void> {
    const directory = path.slice(0, path.lastIndexOf('/'));
    const found = this.#byDirectory.get(directory) ?? (await this.#look(path));
    this.#byDirectory.set(directory, found);
    const needed = this.#needed.get(found.device) ?? {
      bytes: SPARE_BYTES,
      path,
      free: found.bytes,
    };
    needed.bytes += bytes;
    this.#needed.set(found.device, needed);
  }

  async #look(path: string): Promise<{ device: number; bytes: number }> {
    try {
      return await this.#ports.files.room(path);
    } catch (error) {
      throw diskFailure(error);
    }
  }

  refuseShortage(): void {
    for (const { bytes, path, free } of this.#needed.values()) {
      if (bytes <= free) continue;
      throw fail(
        'ApplyFailed',
        `write ${path}: the file system has ${free} bytes left, the update needs ${bytes}`,
        { path },
      );
    }
  }
}
