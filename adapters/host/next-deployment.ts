/**
 * The files of a machine as its units will find them once another deployment of ostree has booted. Its
 * tree is on the disk as soon as it is staged; its `/etc` is made from the running one at the shutdown.
 */

import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { HostFiles } from './files';

/** Where deployments are, by the name of their operating system; the second place is a link to the first. */
const DEPLOYMENTS = ['/sysroot/ostree/deploy', '/ostree/deploy'] as const;

/** Other with each deployment, or empty at each boot; all else is the machine's own whatever boots. */
const OF_THE_BOOT = ['/usr/', '/lib/', '/run/'] as const;
/** A link to `/var` on such systems. */
const LOCAL = '/usr/local/';

/**
 * What is read comes from the deployment where it is the image's, what is written goes to the running
 * machine: ostree carries changes of `/etc` over. Undefined when there is no tree of that name.
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

/** Deployments of one checksum are one tree, whichever operating system has them. */
async function treeOf(files: HostFiles, deployment: string): Promise<string | undefined> {
  for (const place of DEPLOYMENTS) {
    for (const name of await files.list(place)) {
      const tree = posix.join(place, name, 'deploy', deployment);
      if ((await files.facts(posix.join(tree, 'usr'))).kind === 'directory') return tree;
    }
  }
  return undefined;
}

/**
 * Where to read what will be at a path. What nobody changed in `/etc` since the running image brought
 * it, or did not, is the new image's.
 */
async function placeAfterBoot(files: HostFiles, tree: string, path: string): Promise<string> {
  if (!path.startsWith('/etc/')) {
    const isOfTheBoot = OF_THE_BOOT.some((start) => path.startsWith(start));
    return isOfTheBoot && !path.startsWith(LOCAL) ? posix.join(tree, path) : path;
  }
  const [mine, brought] = [await files.look(path), await files.look(posix.join('/usr', path))];
  // It stays for what was added to it; what is in it is looked at by itself.
  if (mine.kind === 'directory') return path;
  return isDeepStrictEqual(mine, brought) ? posix.join(tree, 'usr', path) : path;
}
