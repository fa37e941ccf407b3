/** An ostree tree made of a Debian root, for a host with a read-only /usr. */

import { cp, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execute } from '../execute';
import { repositoryRoot } from '../../../tools/repository-root';
import { packImage } from './pod-images';

interface TreePrograms {
  readonly kubelet: string;
  /** `slipway-ostree`. */
  readonly ostree: string;
  /** For the host worker. */
  readonly node: string;
}

export const KERNEL = '6.1.0-slipway';
export const IMAGE_FOLDER = join('test', 'hosts', 'image');

/** A container does not need these, or they would use a network. */
const MASKED = [
  ...['ostree-remount.service', 'getty.target', 'console-getty.service'],
  ...['systemd-networkd-wait-online.service', 'systemd-resolved.service', 'fstrim.timer'],
  ...['apt-daily.timer', 'apt-daily-upgrade.timer', 'dpkg-db-backup.timer'],
  ...['e2scrub_all.timer', 'e2scrub_reap.service', 'systemd-timesyncd.service'],
];
/** Below /usr, as in an image of a distribution. */
const ENABLED: Readonly<Record<string, readonly string[]>> = {
  'sysinit.target': ['node-prep.service'],
  'multi-user.target': [
    ...['containerd.service', 'node-images.service', 'kubelet.service', 'crio.service'],
    ...['ostree-finalize-staged.path'],
  ],
};

export async function makeTree(
  debian: string,
  programs: TreePrograms,
  directory: string,
): Promise<void> {
  await execute('cp', ['-a', '--reflink=auto', join(debian, 'root'), directory]);
  await addUser(directory);
  await addUnits(debian, directory);
  await addPrograms(directory, programs);
  await overlay(join(repositoryRoot(), IMAGE_FOLDER, 'common'), directory);
  await enableUnits(directory);
  await empty(directory);
  await link(directory);
  const kernel = join(directory, 'usr/lib/modules', KERNEL);
  await mkdir(kernel, { recursive: true });
  // ostree requires kernel and initramfs.
  await writeFile(join(kernel, 'vmlinuz'), 'a container needs no kernel of its own\n');
  await writeFile(join(kernel, 'initramfs.img'), 'nor an initramfs\n');
  await rm(join(directory, 'etc/hostname'), { force: true });
  await writeFile(join(directory, 'etc/machine-id'), '');
  await writeFile(join(directory, 'etc/resolv.conf'), '');
  // Otherwise every build makes other digests.
  for (const changing of ['ld.so.cache~', 'passwd-', 'group-', 'shadow-', 'gshadow-']) {
    await rm(join(directory, 'etc', changing), { force: true });
  }
  await rename(join(directory, 'etc'), join(directory, 'usr/etc'));
}

async function addUser(directory: string): Promise<void> {
  await execute('chroot', [
    ...[directory, 'useradd', '--uid', '1000', '--user-group', '--shell', '/bin/bash'],
    ...['--home-dir', '/home/core', '--no-create-home', 'core'],
  ]);
}

async function addUnits(debian: string, directory: string): Promise<void> {
  const from = join(debian, 'unpacked/lib/systemd/system');
  for (const name of await readdir(from)) {
    if (/^ostree-(finalize-staged|boot-complete)/.test(name)) {
      await cp(join(from, name), join(directory, 'usr/lib/systemd/system', name));
    }
  }
}

async function addPrograms(directory: string, programs: TreePrograms): Promise<void> {
  await cp(programs.kubelet, join(directory, 'usr/bin/kubelet'));
  await cp(programs.ostree, join(directory, 'usr/bin/slipway-ostree'));
  await cp(programs.node, join(directory, 'usr/bin/node'));
  const images = join(directory, 'usr/lib/node/images');
  await mkdir(images, { recursive: true });
  await packImage(join(directory, 'bin/busybox'), images);
}

export async function overlay(folder: string, directory: string): Promise<void> {
  await execute('cp', ['-a', '--no-preserve=ownership', `${folder}/.`, directory]);
}

async function enableUnits(directory: string): Promise<void> {
  for (const [target, units] of Object.entries(ENABLED)) {
    const wants = join(directory, 'etc/systemd/system', `${target}.wants`);
    await mkdir(wants, { recursive: true });
    for (const unit of units) {
      await rm(join(wants, unit), { force: true });
      await symlink(`/usr/lib/systemd/system/${unit}`, join(wants, unit));
    }
  }
  for (const unit of MASKED) {
    const path = join(directory, 'etc/systemd/system', unit);
    await rm(path, { force: true });
    await symlink('/dev/null', path);
  }
}

/** State, devices, and files that a boot makes. */
async function empty(directory: string): Promise<void> {
  for (const folder of ['var', 'tmp', 'dev', 'boot', 'run', 'proc', 'sys']) {
    await rm(join(directory, folder), { recursive: true, force: true });
    await mkdir(join(directory, folder));
  }
}

const LINKS: Readonly<Record<string, string>> = {
  home: 'var/home',
  root: 'var/roothome',
  opt: 'var/opt',
  srv: 'var/srv',
  mnt: 'var/mnt',
  media: 'var/media',
  ostree: 'sysroot/ostree',
  'usr/local': '../var/usrlocal',
};

async function link(directory: string): Promise<void> {
  for (const [path, target] of Object.entries(LINKS)) {
    await rm(join(directory, path), { recursive: true, force: true });
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await symlink(target, join(directory, path));
  }
  await mkdir(join(directory, 'sysroot'));
}
