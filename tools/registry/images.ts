/**
 * Small OS images for tests, in a real registry. ostree takes the tree for a bootable one, but its
 * kernel is a line of text.
 */

import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../binaries/run-program';

/** By path below the root. */
type LayerFiles = Readonly<Record<string, string | Buffer>>;

interface TinyImage {
  /** Tag and ostree branch. */
  readonly name: string;
  readonly version: string;
  /** By layer ID; versions with the same files share the layer. */
  readonly layers: Readonly<Record<string, LayerFiles>>;
  /** OCI's name; absent = that of this machine. */
  readonly architecture?: string;
}

interface ImageBuilderParts {
  /** Path of ostree-ext-cli. */
  readonly ostreeExt: string;
  readonly directory: string;
  /** Over plain HTTP. */
  readonly repository: string;
}

export interface ImageBuilder {
  /** @returns the reference by digest, `host:port/name@sha256:…` */
  push(image: TinyImage): Promise<string>;
}

const KERNEL = 'usr/lib/modules/6.1.0-tiny';
/** ostree-ext fixes the name. */
const REMAINDER = 'unpackaged';

export async function createImageBuilder(parts: ImageBuilderParts): Promise<ImageBuilder> {
  const { directory, repository, ostreeExt } = parts;
  const repo = join(directory, 'build');
  await mkdir(directory, { recursive: true });
  await call('ostree', [`--repo=${repo}`, 'init', '--mode=archive']);
  return {
    async push(image) {
      const tree = await writeTree(directory, image);
      const branch = `tiny/${image.name}`;
      const commit = ['commit', '-b', branch, `--tree=dir=${tree}`, '--bootable'];
      const owner = ['--owner-uid=0', '--owner-gid=0', '--no-xattrs'];
      const metadata = [`--add-metadata-string=version=${image.version}`, '-s', image.version];
      await call('ostree', [`--repo=${repo}`, ...commit, ...owner, ...metadata]);
      const meta = await writeContentMeta(directory, repo, branch, image);
      const oci = join(directory, `${image.name}.oci`);
      const target = `oci:${oci}:${image.name}`;
      const encapsulate = ['container', 'encapsulate', '--repo', repo, '--contentmeta', meta];
      await call(ostreeExt, [...encapsulate, branch, target]);
      if (image.architecture !== undefined) await setArchitecture(oci, image.architecture);
      const digestFile = join(directory, `${image.name}.digest`);
      const plain = ['--insecure-policy', 'copy', '--dest-tls-verify=false'];
      const to = `docker://${repository}:${image.name}`;
      await call('skopeo', [...plain, '--digestfile', digestFile, target, to]);
      return `${repository}@${(await readFile(digestFile, 'utf8')).trim()}`;
    },
  };
}

/** Incompressible; equal seeds give equal bytes. */
export function noise(seed: string, size: number): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at * 32 < size; at += 1) {
    blocks.push(createHash('sha256').update(`${seed}/${at}`).digest());
  }
  return Buffer.concat(blocks).subarray(0, size);
}

function call(program: string, args: readonly string[]): Promise<string> {
  return run(program, args, process.env);
}

async function writeTree(directory: string, image: TinyImage): Promise<string> {
  const tree = join(directory, `${image.name}.tree`);
  await rm(tree, { recursive: true, force: true });
  const folders = ['var', 'tmp', 'dev', 'boot', 'run', 'proc', 'sys', 'sysroot', 'usr/bin'];
  for (const folder of folders) await mkdir(join(tree, folder), { recursive: true });
  await mkdir(join(tree, 'usr/lib'), { recursive: true });
  await symlink('usr/bin', join(tree, 'bin'));
  await symlink('usr/lib', join(tree, 'lib'));
  await symlink('sysroot/ostree', join(tree, 'ostree'));
  const base: LayerFiles = {
    [`${KERNEL}/vmlinuz`]: 'a kernel that does not boot\n',
    [`${KERNEL}/initramfs.img`]: 'an initramfs that does not boot\n',
    'usr/etc/tiny.conf': 'default\n',
    'usr/lib/os-release': `ID=tiny\nVERSION_ID=${image.version}\n`,
  };
  for (const files of [base, ...Object.values(image.layers)]) {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(tree, path)), { recursive: true });
      await writeFile(join(tree, path), content);
    }
  }
  return tree;
}

/** Each object of the commit is in one layer. */
async function writeContentMeta(
  directory: string,
  repo: string,
  branch: string,
  image: TinyImage,
): Promise<string> {
  const listing = await call('ostree', [`--repo=${repo}`, 'ls', '-R', '-C', branch]);
  const layerOf = (path: string): string =>
    Object.entries(image.layers).find(([, files]) => path.slice(1) in files)?.[0] ?? REMAINDER;
  const mapping: Record<string, string> = {};
  for (const line of listing.split('\n')) {
    if (line === '' || line.startsWith('d')) continue;
    const [, , , , checksum = '', path = ''] = line.split(/\s+/);
    mapping[checksum] ??= layerOf(path);
  }
  const ids = [REMAINDER, ...Object.keys(image.layers)];
  const layers = Object.fromEntries(ids.map((id) => [id, id]));
  const file = join(directory, `${image.name}.meta.json`);
  await writeFile(file, JSON.stringify({ version: 1, layers, mapping }));
  return file;
}

interface Descriptor {
  digest: string;
  size: number;
}

/** In config, manifest and index of an OCI directory. */
async function setArchitecture(oci: string, architecture: string): Promise<void> {
  const read = async <T>({ digest }: Descriptor): Promise<T> =>
    JSON.parse(await readFile(blobPath(oci, digest), 'utf8')) as T;
  const write = async (value: unknown): Promise<Descriptor> => {
    const content = JSON.stringify(value);
    const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
    await writeFile(blobPath(oci, digest), content);
    return { digest, size: Buffer.byteLength(content) };
  };
  const indexFile = join(oci, 'index.json');
  const index = JSON.parse(await readFile(indexFile, 'utf8')) as { manifests: [Descriptor] };
  const manifest = await read<{ config: Descriptor }>(index.manifests[0]);
  const config = await read<object>(manifest.config);
  Object.assign(manifest.config, await write({ ...config, architecture }));
  Object.assign(index.manifests[0], await write(manifest));
  await writeFile(indexFile, JSON.stringify(index));
}

function blobPath(oci: string, digest: string): string {
  return join(oci, 'blobs', ...digest.split(':'));
}
