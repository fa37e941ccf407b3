/** Assigns each file to a layer, so that a small change is a small download. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from '../execute';

/** As the encapsulation reads it. */
interface ContentMeta {
  readonly version: 1;
  readonly layers: Readonly<Record<string, string>>;
  readonly mapping: Readonly<Record<string, string>>;
}

/** Most specific first. */
const OWN_LAYERS: readonly (readonly [string, string])[] = [
  ['/usr/bin/kubelet', 'kubelet'],
  ['/usr/bin/node', 'node-runtime'],
  ['/usr/lib/modules/', 'kernel'],
  ['/usr/lib/node/images/', 'pod-images'],
];
const LARGEST_PACKAGES = 16;
/** Of the encapsulation, for files without an owner. */
const UNPACKAGED = 'unpackaged';

/** @param debian - the root with the package database that the tree was made of */
export async function layersOf(
  repository: string,
  commit: string,
  debian: string,
): Promise<ContentMeta> {
  const owners = await packageOfPath(debian);
  const files = await filesOf(repository, commit);
  const sizes = new Map<string, number>();
  for (const { path, size } of files) {
    const owner = owners.get(path);
    if (owner !== undefined) sizes.set(owner, (sizes.get(owner) ?? 0) + size);
  }
  const largest = new Set(
    [...sizes]
      .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
      .slice(0, LARGEST_PACKAGES)
      .map(([name]) => name),
  );
  const mapping: Record<string, string> = {};
  for (const { path, checksum } of files) {
    mapping[checksum] ??= layerOf(path, owners.get(path), largest);
  }
  const layers = Object.fromEntries(
    [...new Set(Object.values(mapping))].sort().map((name) => [name, name]),
  );
  return { version: 1, layers, mapping };
}

function layerOf(path: string, owner: string | undefined, largest: ReadonlySet<string>): string {
  const own = OWN_LAYERS.find(([start]) => path.startsWith(start));
  if (own !== undefined) return own[1];
  if (owner === undefined) return UNPACKAGED;
  return largest.has(owner) ? owner : 'other-packages';
}

/** By paths in the tree. */
async function packageOfPath(debian: string): Promise<ReadonlyMap<string, string>> {
  const folder = join(debian, 'root/var/lib/dpkg/info');
  const owners = new Map<string, string>();
  for (const list of (await readdir(folder)).sort()) {
    if (!list.endsWith('.list')) continue;
    const name = list.slice(0, -'.list'.length).replace(/:.*/, '');
    for (const path of (await readFile(join(folder, list), 'utf8')).split('\n')) {
      const real = path
        .replace(/^\/(bin|sbin|lib|lib64)\//, '/usr/$1/')
        .replace(/^\/etc\//, '/usr/etc/');
      if (!owners.has(real)) owners.set(real, name);
    }
  }
  return owners;
}

interface TreeFile {
  readonly path: string;
  readonly size: number;
  readonly checksum: string;
}

/** `-00644 0 0  1234 <checksum> /usr/bin/thing`, for a link followed by ` -> target`. */
async function filesOf(repository: string, commit: string): Promise<readonly TreeFile[]> {
  const listing = await execute('ostree', [`--repo=${repository}`, 'ls', '-R', '-C', commit]);
  return listing.split('\n').flatMap((line) => {
    const found = /^[-l]\d+ \d+ \d+\s+(\d+) ([0-9a-f]{64}) (.*)$/.exec(line);
    if (found === null) return [];
    const [, size = '0', checksum = '', rest = ''] = found;
    return [{ size: Number(size), checksum, path: rest.replace(/ -> .*$/, '') }];
  });
}
