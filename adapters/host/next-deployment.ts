/**
 * The files of a machine after the boot of another ostree deployment. Its tree is on disk once it
 * is staged; its `/etc` is merged from the running one at shutdown.
 */

import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { HostFiles } from './files';

/** The second path is a link to the first. */
const DEPLOYMENTS = ['/sysroot/ostree/deploy', '/ostree/deploy'] as const;

/** These differ by deployment or are empty at boot. */
const OF_THE_BOOT = ['/usr/', '/lib/', '/run/'] as const;
/** A link into `/var` on ostree systems. */
const LOCAL = '/usr/local/';

/**
 * Reads image paths from the deployment, and writes to the running machine, because ostree carries
 * changes of `/etc` over. Undefined when there is no such tree.
 *
 * @param deployment - as drivers name it: `CHECKSUM.SERIAL`
 */
export async function filesAfterBoot(
  files: HostFiles,
  deployment: string,
): Promise<HostFiles | undefined> {
  const tree = await treeOf(files, deployment);
  if (tree === undefined) return undefined;
  const placeOf = (path: string): Promise<string> => placeAfterBoot(files, tree, path);
  const look: HostFiles['look'] = async (path) => files.look(await placeOf(path));
  return {
    ...files,
    look,
    facts: async (path) => files.facts(await placeOf(path)),
    async list(path) {
      const names = await Promise.all(
        [path, posix.join(tree, path), posix.join(tree, 'usr', path)].map((place) =>
          files.list(place),
        ),
      );
      const found: string[] = [];
      for (const name of [...new Set(names.flat())].sort()) {
        if ((await look(posix.join(path, name))).kind !== 'absent') found.push(name);
      }
      return found;
    },
  };
}

/** Deployments of one checksum have the same tree in every OS name. */
async function treeOf(files: HostFiles, deployment: string): Promise<string | undefined> {
  for (const place of DEPLOYMENTS) {
    for (const name of await files.list(place)) {
      const tree = posix.join(place, name, 'deploy', deployment);
      if ((await files.facts(posix.join(tree, 'usr'))).kind === 'directory') return tree;
    }
  }
  return undefined;
}

/** A path of `/etc` that equals the running image's comes from the new image. */
async function placeAfterBoot(files: HostFiles, tree: string, path: string): Promise<string> {
  if (!path.startsWith('/etc/')) {
    const isOfTheBoot = OF_THE_BOOT.some((start) => path.startsWith(start));
    return isOfTheBoot && !path.startsWith(LOCAL) ? posix.join(tree, path) : path;
  }
  const [mine, brought] = [await files.look(path), await files.look(posix.join('/usr', path))];
  // Its entries are checked on their own.
  if (mine.kind === 'directory') return path;
  return isDeepStrictEqual(mine, brought) ? posix.join(tree, 'usr', path) : path;
}
