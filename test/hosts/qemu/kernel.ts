/** A real kernel, and the smallest initramfs that reaches an ostree deployment. */

import { chmod, cp, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { cached } from '../build/cache';
import { debianRoot } from '../build/debian';
import { digestOf } from '../build/inputs';
import { execute } from '../execute';

/** Small, with the file system built in. */
const PACKAGE = 'linux-image-cloud-amd64';
const DRIVERS = ['virtio_pci', 'virtio_blk'];
const PREPARE_ROOT = 'usr/lib/ostree/ostree-prepare-root';
const RECIPE = '1';

export const QEMU_FOLDER = join('test', 'hosts', 'qemu');

/** `vmlinuz` and `initramfs.img`; made once. */
export async function kernelAndInitramfs(): Promise<string> {
  const debian = await debianRoot();
  const init = join(repositoryRoot(), QEMU_FOLDER, 'image', 'initramfs-init');
  const digest = await digestOf([debian, PACKAGE, RECIPE, ...DRIVERS], [init]);
  return cached('kernel', digest, 'making kernel and initramfs', async (directory) => {
    const unpacked = join(directory, 'unpacked');
    const packages = join(directory, 'packages');
    await unpackKernel(packages, unpacked);
    const [kernel = ''] = (await readdir(join(unpacked, 'boot'))).filter((name) =>
      name.startsWith('vmlinuz-'),
    );
    await cp(join(unpacked, 'boot', kernel), join(directory, 'vmlinuz'));
    const tree = join(directory, 'tree');
    await makeInitramfsTree(tree, { debian, init, modules: join(unpacked, 'lib/modules') });
    await pack(tree, join(debian, 'root/bin/busybox'), join(directory, 'initramfs.img'));
    for (const work of [tree, unpacked, packages]) await rm(work, { recursive: true });
  });
}

/** The package is empty and depends on the newest kernel. */
async function unpackKernel(directory: string, unpacked: string): Promise<void> {
  const meta = await download(directory, PACKAGE);
  const depends = await execute('dpkg-deb', ['--field', meta, 'Depends']);
  const name = /\blinux-image-[0-9][^ ,]*/.exec(depends)?.[0];
  if (name === undefined) throw new Error(`${PACKAGE} depends on no kernel: ${depends}`);
  await execute('dpkg-deb', ['--extract', await download(directory, name), unpacked]);
}

async function download(directory: string, name: string): Promise<string> {
  const folder = join(directory, name);
  await mkdir(folder, { recursive: true });
  await execute('apt-get', ['download', '-qq', name], { cwd: folder });
  const [file = ''] = await readdir(folder);
  return join(folder, file);
}

interface InitramfsParts {
  readonly debian: string;
  readonly init: string;
  readonly modules: string;
}

async function makeInitramfsTree(tree: string, parts: InitramfsParts): Promise<void> {
  const { debian, init, modules } = parts;
  for (const folder of ['bin', 'dev', 'proc', 'sys', 'run', 'sysroot', 'modules']) {
    await mkdir(join(tree, folder), { recursive: true });
  }
  await cp(join(debian, 'root/bin/busybox'), join(tree, 'bin/busybox'));
  await cp(init, join(tree, 'init'));
  await chmod(join(tree, 'init'), 0o755);
  await cp(join(debian, 'unpacked', PREPARE_ROOT), join(tree, PREPARE_ROOT));
  for (const library of await librariesOf(debian)) {
    await execute('cp', ['-L', '--parents', library, tree], { cwd: join(debian, 'root') });
  }
  // The init program loads them in the order of their names.
  for (const [index, path] of (await inLoadingOrder(modules)).entries()) {
    const place = String(index).padStart(2, '0');
    await cp(path, join(tree, 'modules', `${place}-${basename(path)}`));
  }
}

/** By the loader of the Debian root, as paths below it. */
async function librariesOf(debian: string): Promise<readonly string[]> {
  const root = join(debian, 'root');
  const folders = ['lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu'];
  const loader = 'lib64/ld-linux-x86-64.so.2';
  const listing = await execute(join(root, loader), [
    ...['--library-path', folders.map((folder) => join(root, folder)).join(':')],
    ...['--list', join(debian, 'unpacked', PREPARE_ROOT)],
  ]);
  const paths = [...listing.matchAll(/=> (\S+)/g)].map(([, path = '']) => path);
  const inside = paths.filter((path) => path.startsWith(`${root}/`));
  return [...inside.map((path) => path.slice(root.length + 1)), loader];
}

/** Modules name their dependencies. */
async function inLoadingOrder(modules: string): Promise<readonly string[]> {
  const listing = await execute('find', [modules, '-name', '*.ko']);
  const paths = new Map(
    listing
      .trim()
      .split('\n')
      .map((path) => [basename(path, '.ko').replaceAll('-', '_'), path]),
  );
  const ordered = new Set<string>();
  const add = async (name: string): Promise<void> => {
    const path = paths.get(name);
    // Built into the kernel.
    if (path === undefined || ordered.has(path)) return;
    const [, needs = ''] = /\0depends=([^\0]*)\0/.exec(await readFile(path, 'latin1')) ?? [];
    for (const needed of needs.split(',')) await add(needed.replaceAll('-', '_'));
    ordered.add(path);
  };
  for (const driver of DRIVERS) await add(driver);
  return [...ordered];
}

/** An emulated machine unpacks more slowly than it reads. */
async function pack(tree: string, busybox: string, file: string): Promise<void> {
  const script = 'cd "$1" && find . | "$2" cpio -o -H newc 2>/dev/null | gzip -1 >"$3"';
  await execute('/bin/sh', ['-c', script, 'sh', tree, busybox, file]);
}
