/** One layer on top of an image of the other hosts, for a real kernel. */

import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { cached } from '../build/cache';
import { debianRoot } from '../build/debian';
import { osImages } from '../build/images';
import { digestOf } from '../build/inputs';
import { addLayer } from '../build/oci-layout';
import { KERNEL, overlay } from '../build/tree';
import { kernelAndInitramfs, QEMU_FOLDER } from './kernel';

export const BOOTABLE = 'bootable';

/** Raise it when the code changes the image. */
const RECIPE = '2';
/** Boot loader and system communicate through it. */
const GRUB_EDITENV = '/usr/bin/grub-editenv';

/** The host worker would wait for its control plane. */
const NOT_STARTED = ['kubelet', 'containerd', 'crio', 'node-images', 'node-prep', 'slipway-host'];
/** Nothing here needs these, and an emulated machine is slow. */
const DEBIAN_TARGETS = ['sysinit', 'sockets', 'timers', 'multi-user'];
/** Programs write to the console instead. */
const NEVER_STARTED = ['systemd-journald', 'dbus', 'systemd-logind', 'systemd-tmpfiles-clean'];

/** Every deployment has a link to each file. */
const LEFT_OUT = [
  'usr/share',
  ...['apt', 'cni', 'dpkg', 'gnupg', 'locale', 'mime', 'terminfo', 'udev', 'node/images'].map(
    (name) => `usr/lib/${name}`,
  ),
  ...['gconv', 'perl-base', 'perl'].map((name) => `usr/lib/x86_64-linux-gnu/${name}`),
  ...['kubelet', 'containerd', 'ctr', 'skopeo', 'perl'].map((name) => `usr/bin/${name}`),
  ...['apt', 'ssl', 'terminfo', 'perl'].map((name) => `etc/${name}`),
];

/** Cached by its inputs. */
export async function qemuImages(): Promise<string> {
  const base = await osImages();
  const kernel = await kernelAndInitramfs();
  const system = join(repositoryRoot(), QEMU_FOLDER, 'image', 'system');
  const digest = await digestOf(
    [base, kernel, RECIPE, ...NOT_STARTED, ...DEBIAN_TARGETS, ...NEVER_STARTED, ...LEFT_OUT],
    [system, GRUB_EDITENV],
  );
  const doing = 'making an OS image with a kernel';
  const folder = await cached('qemu-images', digest, doing, async (directory) => {
    const layout = join(directory, 'oci');
    await cp(base, layout, { recursive: true });
    const layer = join(directory, 'layer');
    await makeSystem(layer, { kernel, system });
    await addLayer(layout, { from: 'v1', tag: BOOTABLE, comment: 'a kernel that boots' }, layer);
    await rm(layer, { recursive: true });
  });
  return join(folder, 'oci');
}

interface SystemParts {
  readonly kernel: string;
  readonly system: string;
}

async function makeSystem(layer: string, { kernel, system }: SystemParts): Promise<void> {
  const modules = join(layer, 'usr/lib/modules', KERNEL);
  await mkdir(modules, { recursive: true });
  for (const file of ['vmlinuz', 'initramfs.img'])
    await cp(join(kernel, file), join(modules, file));
  await overlay(system, layer);
  await mkdir(join(layer, 'usr/bin'), { recursive: true });
  await cp(GRUB_EDITENV, join(layer, 'usr/bin/grub-editenv'));
  for (const name of ['boot-success', 'console-shell']) {
    await enable(layer, 'multi-user.target.wants', `${name}.service`);
  }
  await enable(layer, '.', 'multi-user.target', 'default.target');
  for (const name of await notStarted())
    await link(layer, `etc/systemd/system/${name}`, '/dev/null');
  for (const path of LEFT_OUT) {
    await mkdir(join(layer, dirname(path)), { recursive: true });
    // The prefix `.wh.` removes a file of a lower layer.
    await writeFile(join(layer, dirname(path), `.wh.${basename(path)}`), '');
  }
  const generators = join(await debianRoot(), 'root/usr/lib/systemd/system-generators');
  for (const name of await readdir(generators)) {
    await link(layer, `etc/systemd/system-generators/${name}`, '/dev/null');
  }
}

async function notStarted(): Promise<ReadonlySet<string>> {
  const root = join(await debianRoot(), 'root');
  const names = [...NOT_STARTED, ...NEVER_STARTED].map((name) => `${name}.service`);
  for (const target of DEBIAN_TARGETS) {
    for (const folder of ['usr/lib/systemd/system', 'etc/systemd/system']) {
      const wants = join(root, folder, `${target}.target.wants`);
      if (existsSync(wants)) names.push(...(await readdir(wants)));
    }
  }
  return new Set(names);
}

function enable(layer: string, folder: string, unit: string, name = unit): Promise<void> {
  return link(layer, `etc/systemd/system/${folder}/${name}`, `/usr/lib/systemd/system/${unit}`);
}

async function link(layer: string, path: string, target: string): Promise<void> {
  await mkdir(dirname(join(layer, path)), { recursive: true });
  await symlink(target, join(layer, path));
}
