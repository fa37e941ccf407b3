/**
 * A machine that needs no boot: a real ostree sysroot whose default deployment is entered by chroot, so that
 * ostree takes it for the running system. Deployments are really staged, finalized and switched, in a tenth of a
 * second; there is no systemd and no kernel.
 */

import { createHash } from 'node:crypto';
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { runCommand, type RunCommand } from '../../../../adapters/host/os/command';
import type { OsDriver } from '../../../../adapters/host/os/driver';
import { createOstreeDriver } from '../../../../adapters/host/os/ostree';
import { createProgramRunner, type RunProgram } from '../../../../adapters/host/os/program';
import { ensureStandIns } from '../../../hosts/standin/build';
import { ensureRustProgram } from '../../../../tools/binaries/rust-programs';
import { startRegistry, type Registry } from '../../../../tools/registry';

const ENTER = join(__dirname, 'enter.sh');
const STATEROOT = 'testos';
const here = createProgramRunner();

export interface BootedTree {
  readonly registry: Registry;
  /** Root directory of the machine, for a driver. */
  readonly root: string;
  readonly run: RunProgram;
  /** Publishes an OS image with this text in `/usr/lib/version`; returns its pull spec. */
  publish(version: string): Promise<string>;
  /** Publishes an image with these packages, each one file; returns its pull spec. */
  publishPackages(packages: Readonly<Record<string, string>>): Promise<string>;
  /** Shuts down and boots the default deployment. */
  reboot(): Promise<void>;
  /** A file of the booted deployment, or of another one. */
  readBooted(path: string, deployment?: string): Promise<string>;
  close(): Promise<void>;
}

/** The driver with the real slipway-ostree inside the machine. */
export async function ostreeDriverOf({ root }: BootedTree): Promise<OsDriver> {
  const program = await ensureRustProgram('slipway-ostree');
  const work = dirname(root);
  await copyFile(program, join(work, 'programs', basename(program)));
  const run: RunCommand = (name, args, options) =>
    runCommand(ENTER, [work, basename(name), ...args], options);
  return createOstreeDriver({ program, run, root, architecture: process.arch });
}

export async function bootTree(version: string): Promise<BootedTree> {
  if (process.getuid?.() !== 0) {
    throw new Error('deployments are entered by chroot and mounts: run these tests as root');
  }
  const [ostreeExt, programs] = [await ensureRustProgram('ostree-ext-cli'), await ensureStandIns()];
  const registry = await startRegistry();
  const work = await mkdtemp(join(tmpdir(), 'slipway-tree-'));
  const sysroot = join(work, 'sysroot');
  await layOut(work, programs);
  await here('ostree', ['init', `--repo=${join(work, 'build')}`, '--mode=archive']);

  const publish = async (name: string): Promise<string> => {
    const commit = ['commit', `--repo=${join(work, 'build')}`, '-b', `os/${name}`, '--bootable'];
    await here('ostree', [
      ...commit,
      `--tree=dir=${await writeTree(work, name, registry.address)}`,
    ]);
    const layout = `oci:${join(work, 'images')}:${name}`;
    const encapsulate = ['container', 'encapsulate', '--repo', join(work, 'build'), `os/${name}`];
    await here(ostreeExt, [...encapsulate, layout]);
    return push(layout, `${registry.address}/os`, work);
  };
  const image = await publish(version);
  await install(sysroot, image, ostreeExt);
  await boot(work);
  const run: RunProgram = (program, words, options) =>
    here(ENTER, [work, program, ...words], options);

  return {
    registry,
    root: join(work, 'root'),
    run,
    publish,
    publishPackages: async (packages) =>
      push(`dir:${await writePackages(work, packages)}`, `${registry.address}/extensions`, work),
    async reboot() {
      await run('ostree', ['admin', 'finalize-staged']);
      await rm(join(work, 'run'), { recursive: true });
      await boot(work);
    },
    readBooted: (path, deployment) =>
      readFile(
        join(
          deployment === undefined
            ? join(work, 'booted')
            : join(sysroot, 'ostree/deploy', STATEROOT, 'deploy', deployment),
          path,
        ),
        'utf8',
      ),
    async close() {
      await registry.stop();
      // Deployments have the immutable attribute.
      await here('chattr', ['-R', '-f', '-i', join(sysroot, 'ostree/deploy')]).catch(() => '');
      await rm(work, { recursive: true, force: true });
    },
  };
}

/** Directories of the machine, and one root that leads to all of them. */
async function layOut(work: string, programs: Readonly<Record<string, string>>): Promise<void> {
  for (const name of ['programs', 'root', 'sysroot']) await mkdir(join(work, name));
  for (const [name, path] of Object.entries(programs)) {
    const content = await readFile(path);
    await writeFile(join(work, 'programs', name), content, { mode: 0o755 });
  }
  const leads = { boot: '../sysroot/boot', ostree: '../sysroot/ostree', run: '../run' };
  for (const [name, target] of Object.entries({ ...leads, etc: '../booted/etc', proc: '/proc' })) {
    await symlink(target, join(work, 'root', name));
  }
  await mkdir(join(work, 'root/usr/bin'), { recursive: true });
}

/** The smallest tree that ostree deploys and that can be entered. */
async function writeTree(work: string, version: string, registry: string): Promise<string> {
  const tree = join(work, `tree-${version}`);
  const empty = ['boot', 'dev', 'mnt', 'proc', 'run', 'sys', 'sysroot', 'tmp', 'var'];
  for (const name of empty) await mkdir(join(tree, name), { recursive: true });
  const links = { bin: 'usr/bin', lib: 'usr/lib', lib64: 'usr/lib64', sbin: 'usr/sbin' };
  for (const [name, target] of Object.entries({ ...links, ostree: 'sysroot/ostree' })) {
    await symlink(target, join(tree, name));
  }
  const files = {
    'usr/lib/version': version,
    'usr/lib/modules/6.1.0-t/vmlinuz': 'not a kernel',
    'usr/lib/modules/6.1.0-t/initramfs.img': 'not an initramfs',
    'usr/lib/os-release': 'NAME="test OS"\nID=testos\nVERSION_ID=1\n',
    'usr/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\n',
    'usr/etc/containers/policy.json': '{"default":[{"type":"insecureAcceptAnything"}]}',
    'usr/etc/containers/registries.conf.d/50-test.conf': `[[registry]]\nlocation = "${registry}"\ninsecure = true\n`,
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), content);
  }
  return tree;
}

/** An image of one layer in skopeo's directory format, which needs no other program. */
async function writePackages(
  work: string,
  packages: Readonly<Record<string, string>>,
): Promise<string> {
  const directory = await mkdtemp(join(work, 'packages-'));
  const content = join(directory, 'content');
  for (const [name, text] of Object.entries(packages)) {
    const path = join(content, 'usr/share/rpm-ostree/extensions', name, 'usr/lib', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const image = join(directory, 'image');
  await mkdir(image);
  await here('tar', ['-C', content, '-cf', join(image, 'layer'), '.']);
  const layer = await storeBlob(image, await readFile(join(image, 'layer')));
  const rootfs = { type: 'layers', diff_ids: [layer.digest] };
  const config = { architecture: 'amd64', os: 'linux', config: {}, rootfs };
  const described = await storeBlob(image, Buffer.from(JSON.stringify(config)));
  const mediaType = 'application/vnd.oci.image';
  const manifest = {
    schemaVersion: 2,
    mediaType: `${mediaType}.manifest.v1+json`,
    config: { mediaType: `${mediaType}.config.v1+json`, ...described },
    layers: [{ mediaType: `${mediaType}.layer.v1.tar`, ...layer }],
  };
  await writeFile(join(image, 'manifest.json'), JSON.stringify(manifest));
  await writeFile(join(image, 'version'), 'Directory Transport Version: 1.1\n');
  return image;
}

async function storeBlob(directory: string, content: Buffer) {
  const hex = createHash('sha256').update(content).digest('hex');
  await writeFile(join(directory, hex), content);
  return { digest: `sha256:${hex}`, size: content.length };
}

async function push(from: string, name: string, work: string): Promise<string> {
  const digestFile = join(work, 'digest');
  const words = ['copy', '--quiet', '--dest-tls-verify=false', `--digestfile=${digestFile}`];
  await here('skopeo', [...words, from, `docker://${name}:latest`]);
  return `${name}@${(await readFile(digestFile, 'utf8')).trim()}`;
}

async function install(sysroot: string, image: string, ostreeExt: string): Promise<void> {
  await here('ostree', ['admin', 'init-fs', sysroot]);
  await here('ostree', ['admin', 'os-init', `--sysroot=${sysroot}`, STATEROOT]);
  const repository = `--repo=${join(sysroot, 'ostree/repo')}`;
  await here('ostree', [repository, 'config', 'set', 'sysroot.bootloader', 'none']);
  const where = ['--sysroot', sysroot, '--stateroot', STATEROOT, '--karg', 'ro', '--karg', 'quiet'];
  const reference = ['--imgref', `ostree-unverified-registry:${image}`];
  const insecure = '--insecure-skip-tls-verification';
  await here(ostreeExt, ['container', 'image', 'deploy', ...where, ...reference, insecure]);
  await mkdir(join(sysroot, 'ostree/deploy', STATEROOT, 'var/tmp'), { recursive: true });
}

/** Like a boot loader: the entry of the highest version, and a new `/run`. */
async function boot(work: string): Promise<void> {
  const entries = join(work, 'sysroot/boot/loader/entries');
  const read = async (name: string): Promise<string> => readFile(join(entries, name), 'utf8');
  const contents = await Promise.all((await readdir(entries)).map(read));
  const versionOf = (entry: string): number => Number(/^version (\d+)$/m.exec(entry)?.[1] ?? 0);
  const [newest = ''] = contents.sort((a, b) => versionOf(b) - versionOf(a));
  const link = /\bostree=(\S+)/.exec(newest)?.[1] ?? '';
  const path = join(work, 'sysroot', link);
  const target = resolve(dirname(path), await readlink(path));
  await rm(join(work, 'booted'), { force: true });
  await symlink(target, join(work, 'booted'));
  await mkdir(join(work, 'run'));
  await writeFile(join(work, 'run/ostree-booted'), '');
}
