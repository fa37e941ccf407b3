/** A file made without mounts: boot loader, boot partition, ostree sysroot. */

import { copyFile, mkdir, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureRustProgram } from '../../../tools/binaries/rust-programs';
import { repositoryRoot } from '../../../tools/repository-root';
import { cached } from '../build/cache';
import { digestOf } from '../build/inputs';
import { digestOfTag } from '../build/oci-layout';
import { execute } from '../execute';
import { REGISTRY } from '../machine/os-registry';
import { OS_NAME, removeSysroot } from '../machine/sysroot';
import { BOOTABLE, qemuImages } from './images';
import { QEMU_FOLDER } from './kernel';

const GRUB = '/usr/lib/grub/i386-pc';
const GRUB_MODULES = [
  ...['biosdisk', 'part_msdos', 'ext2', 'normal', 'linux', 'linux16', 'loadenv', 'test', 'echo'],
  ...['serial', 'terminal', 'syslinuxcfg', 'configfile'],
];

const SECTOR = 512;
const BOOT = { start: 2048, sectors: 262_144 };
const ROOT = { start: BOOT.start + BOOT.sectors, sectors: 4_194_304 - BOOT.start - BOOT.sectors };
const BOOTABLE_FLAG = 0x80;
const LINUX = 0x83;

/** Without `panic=` a failed kernel waits for a person. */
export const INSTALLED_ARGUMENTS = [
  ...['root=/dev/vda2', 'rw', 'console=ttyS0', 'panic=1', 'quiet', 'systemd.show_status=0'],
  // Slow on an emulated processor.
  ...['mitigations=off', 'nokaslr', 'no_timer_check', 'rcupdate.rcu_expedited=1', 'lsm='],
];

export interface InstalledFile {
  readonly path: string;
  readonly content: string;
}

export interface Installed {
  readonly files: readonly InstalledFile[];
  readonly kernelArguments: readonly string[];
}

/** @returns a read-only file, which other runs use, too */
export async function installedDisk({ files, kernelArguments }: Installed): Promise<string> {
  const installed = [...INSTALLED_ARGUMENTS, ...kernelArguments];
  const layout = await qemuImages();
  const boot = join(repositoryRoot(), QEMU_FOLDER, 'image', 'boot');
  const texts = [layout, ...installed, ...GRUB_MODULES, JSON.stringify(files)];
  const digest = await digestOf(texts, [boot, join(GRUB, 'kernel.img')]);
  const folder = await cached('disk', digest, 'installing a disk', async (directory) => {
    const sysroot = join(directory, 'sysroot');
    try {
      await install(sysroot, layout, boot, installed);
      await writeInstalled(sysroot, files);
      const disk = join(directory, 'disk.raw');
      await writeDisk(disk, directory, sysroot);
    } finally {
      await removeSysroot(sysroot);
    }
  });
  return join(folder, 'disk.raw');
}

export async function referenceOf(layout: string, tag: string): Promise<string> {
  return `${REGISTRY}/os@${await digestOfTag(layout, tag)}`;
}

/** ostree writes the menu in the form of syslinux, which the boot loader reads. */
async function install(
  sysroot: string,
  layout: string,
  bootFiles: string,
  kernelArguments: readonly string[],
): Promise<void> {
  await mkdir(sysroot);
  await execute('ostree', ['admin', 'init-fs', sysroot]);
  await execute('ostree', ['admin', 'os-init', `--sysroot=${sysroot}`, OS_NAME]);
  const repository = `--repo=${sysroot}/ostree/repo`;
  await execute('ostree', [repository, 'config', 'set', 'sysroot.bootloader', 'syslinux']);
  const boot = join(sysroot, 'boot');
  for (const folder of ['loader.0', 'syslinux', 'grub']) await mkdir(join(boot, folder));
  await execute('ln', ['-s', 'loader.0', join(boot, 'loader')]);
  await execute('ln', ['-s', '../loader/syslinux.cfg', join(boot, 'syslinux/syslinux.cfg')]);
  // Without a timeout the boot loader knows only the first entry.
  await writeFile(join(boot, 'loader.0/syslinux.cfg'), 'TIMEOUT 1\n');
  await copyFile(join(bootFiles, 'grub.cfg'), join(boot, 'grub/grub.cfg'));
  await execute('grub-editenv', [join(boot, 'grub/grubenv'), 'create']);
  await execute(await ensureRustProgram('ostree-ext-cli'), [
    ...['container', 'image', 'deploy', '--sysroot', sysroot, '--stateroot', OS_NAME],
    ...kernelArguments.flatMap((argument) => ['--karg', argument]),
    ...['--imgref', `ostree-unverified-image:oci:${layout}:${BOOTABLE}`],
    ...['--target-imgref', `ostree-unverified-registry:${await referenceOf(layout, BOOTABLE)}`],
  ]);
}

async function writeInstalled(sysroot: string, files: readonly InstalledFile[]): Promise<void> {
  const listing = await execute('ostree', ['admin', 'status', `--sysroot=${sysroot}`]);
  const name = /\b([0-9a-f]{64}\.\d+)\b/.exec(listing)?.[1];
  if (name === undefined) throw new Error(`${sysroot} has no deployment`);
  const root = join(sysroot, 'ostree/deploy', OS_NAME, 'deploy', name);
  for (const { path, content } of files) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), content, { mode: 0o644 });
  }
}

async function writeDisk(disk: string, directory: string, sysroot: string): Promise<void> {
  await writeFile(disk, '');
  await truncate(disk, (ROOT.start + ROOT.sectors) * SECTOR);
  await writeBootLoader(disk, directory);
  // Each file system is made from a folder; /boot is separate.
  const boot = join(directory, 'boot');
  await rename(join(sysroot, 'boot'), boot);
  await mkdir(join(sysroot, 'boot'));
  await makeFileSystem(disk, boot, BOOT);
  await makeFileSystem(disk, sysroot, ROOT);
  await rm(boot, { recursive: true });
}

interface Partition {
  readonly start: number;
  readonly sectors: number;
}

/** Only features that this boot loader knows. */
async function makeFileSystem(
  disk: string,
  folder: string,
  { start, sectors }: Partition,
): Promise<void> {
  await execute('mkfs.ext4', [
    ...['-q', '-F', '-O', '^metadata_csum_seed,^orphan_file,^64bit', '-d', folder],
    ...['-E', `offset=${start * SECTOR},lazy_itable_init=1`, disk, `${(sectors * SECTOR) / 1024}k`],
  ]);
}

/** The first sector loads the sectors behind it, which can read the file system. */
async function writeBootLoader(disk: string, directory: string): Promise<void> {
  const core = join(directory, 'core.img');
  await execute('grub-mkimage', [
    ...['--format=i386-pc', '--prefix=(hd0,msdos1)/grub', `--output=${core}`, ...GRUB_MODULES],
  ]);
  const first = Buffer.alloc(SECTOR);
  (await readFile(join(GRUB, 'boot.img'))).copy(first, 0, 0, TABLE_AT);
  writePartition(first, 0, BOOT, BOOTABLE_FLAG);
  writePartition(first, 1, ROOT, 0);
  first.writeUInt16LE(0xaa55, SECTOR - 2);
  const file = await open(disk, 'r+');
  try {
    await file.write(first, 0, SECTOR, 0);
    const rest = await readFile(core);
    if (rest.length > (BOOT.start - 1) * SECTOR) throw new Error('the boot loader is too big');
    await file.write(rest, 0, rest.length, SECTOR);
  } finally {
    await file.close();
  }
  await rm(core);
}

/** At the end of the first sector: entries of 16 bytes. */
const TABLE_AT = 446;

function writePartition(sector: Buffer, index: number, part: Partition, flag: number): void {
  const at = TABLE_AT + index * 16;
  sector.writeUInt8(flag, at);
  sector.writeUInt8(LINUX, at + 4);
  sector.writeUInt32LE(part.start, at + 8);
  sector.writeUInt32LE(part.sectors, at + 12);
}
