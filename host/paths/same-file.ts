/** Two paths of configs may be one file on this host, through a link or a mount. */

import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fail } from '../../core/errors';
import type { Files } from '../ports';
import type { WantedPaths } from './wanted-paths';

/**
 * Refuses a config that names one file by two paths, such as `/opt/x` and `/var/opt/x`, or by
 * another path than the current config: one path would undo the other. Paths that both configs have
 * alike may stay.
 *
 * @throws `ApplyFailed` naming both paths
 */
export async function refuseSameFile(
  files: Pick<Files, 'place'>,
  old: WantedPaths | undefined,
  desired: WantedPaths,
): Promise<void> {
  const places = new Places(files);
  const first = new Map<string, string>();
  const changes = (path: string): boolean => !isDeepStrictEqual(old?.get(path), desired.get(path));
  for (const path of new Set([...desired.keys(), ...(old?.keys() ?? [])])) {
    const place = await places.of(path);
    const other = first.get(place);
    if (other === undefined) first.set(place, path);
    else if (changes(path) || changes(other)) throw sameFile(other, path, desired.has(path));
  }
}

function sameFile(path: string, other: string, both: boolean): Error {
  const whose = both ? 'which the config names, too' : 'which the config before names';
  const fix = both
    ? 'name it by one of the two paths'
    : 'keep to that path, or leave the file out of one config in between';
  const text = `write ${path}: on this host it is the same file as ${other}, ${whose}; ${fix}`;
  return fail('ApplyFailed', text, { path });
}

/** A config may have thousands of files in one directory. */
class Places {
  readonly #byDirectory = new Map<string, string>();
  readonly #files: Pick<Files, 'place'>;

  constructor(files: Pick<Files, 'place'>) {
    this.#files = files;
  }

  async of(path: string): Promise<string> {
    const directory = posix.dirname(path);
    let place = this.#byDirectory.get(directory);
    if (place === undefined) {
      place = posix.dirname(await this.#files.place(path));
      this.#byDirectory.set(directory, place);
    }
    return posix.join(place, posix.basename(path));
  }
}
