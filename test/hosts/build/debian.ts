/** A small Debian that can be a Kubernetes node. */

import { readFileSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from '../execute';
import { cached } from './cache';
import { digestOf } from './inputs';

const PACKAGES = [
  ...['systemd', 'systemd-sysv', 'dbus', 'ostree', 'ca-certificates', 'procps', 'attr'],
  ...['containerd', 'runc', 'iproute2', 'iptables', 'containernetworking-plugins'],
  // slipway-ostree pulls through skopeo.
  ...['skopeo', 'libzstd1', 'libssl3', 'util-linux', 'busybox-static'],
];
/**
 * Not installed: a boot loader would come with the units that finalize a deployment, and the
 * registry is for the suite.
 */
const UNPACKED = ['ostree-boot', 'docker-registry'];

interface DebianSource {
  readonly mirror: string;
  readonly suite: string;
}

/** With the root file system in `<folder>/root`. Made once, in two minutes. */
export async function debianRoot(): Promise<string> {
  const source = await machineSource();
  const digest = await digestOf([source.suite, ...PACKAGES, ...UNPACKED]);
  const folder = await cached('debian', digest, 'making a small Debian', async (directory) => {
    const root = join(directory, 'root');
    const packages = `--include=${PACKAGES.join(',')}`;
    await execute('debootstrap', [
      ...['--variant=minbase', packages, source.suite, root, source.mirror],
    ]);
    const down = join(directory, 'download');
    await execute('mkdir', [down]);
    await execute('apt-get', ['download', '-qq', ...UNPACKED], { cwd: down });
    for (const file of await readdir(down)) {
      await execute('dpkg-deb', ['-x', join(down, file), join(directory, 'unpacked')]);
    }
    await rm(down, { recursive: true });
    await rm(join(root, 'var/cache/apt/archives'), { recursive: true });
  });
  return folder;
}

const STOCK_PACKAGES = ['cloud-init', 'curl'];
/** Raise it when the code changes the files. */
const STOCK_RECIPE = '2';

/** What a stock image has beyond the small Debian, in `<folder>/files`. Made once, in half a minute. */
export async function stockPackages(): Promise<string> {
  const debian = await debianRoot();
  const digest = await digestOf([debian, STOCK_RECIPE, ...STOCK_PACKAGES]);
  return cached('stock', digest, 'adding cloud-init to Debian', async (directory) => {
    const files = join(directory, 'files');
    const work = join(directory, 'work');
    const root = join(directory, 'root');
    for (const folder of [files, work, root]) await mkdir(folder);
    const layers = `lowerdir=${join(debian, 'root')},upperdir=${files},workdir=${work}`;
    await execute('mount', ['-t', 'overlay', 'overlay', '-o', layers, root]);
    try {
      await copyFile('/etc/resolv.conf', join(root, 'etc/resolv.conf'));
      const inRoot = (...command: readonly string[]) =>
        execute('chroot', [root, 'env', 'DEBIAN_FRONTEND=noninteractive', ...command]);
      await inRoot('apt-get', 'update', '-qq');
      await inRoot('apt-get', 'install', '-qq', '--no-install-recommends', ...STOCK_PACKAGES);
    } finally {
      await execute('umount', [root]);
    }
    for (const folder of await readdir(files)) {
      if (folder !== 'usr' && folder !== 'etc') await rm(join(files, folder), { recursive: true });
    }
    // A link in the tree, and what the overlay has deleted.
    await rm(join(files, 'usr/local'), { recursive: true, force: true });
    await execute('find', [files, '-type', 'c', '-delete']);
    // Those of the tree differ from those of Debian.
    for (const file of ['resolv.conf', 'passwd', 'passwd-', 'group', 'group-', 'ld.so.cache~']) {
      await rm(join(files, 'etc', file), { force: true });
    }
    await rename(join(files, 'etc'), join(files, 'usr/etc'));
    await rm(work, { recursive: true });
    await rm(root, { recursive: true });
  });
}

async function machineSource(): Promise<DebianSource> {
  const release = await readFile('/etc/os-release', 'utf8');
  const suite = /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(release)?.[1];
  if (suite === undefined) {
    throw new Error('/etc/os-release names no VERSION_CODENAME; end-to-end hosts need Debian');
  }
  const lists = await sourceLists();
  const mirror = lists.flatMap((text) => mirrorsIn(text, suite))[0];
  if (mirror === undefined) {
    throw new Error(`no source of ${suite} main in /etc/apt; end-to-end hosts are made from it`);
  }
  return { mirror, suite };
}

async function sourceLists(): Promise<readonly string[]> {
  const more = (await readdir('/etc/apt/sources.list.d').catch(() => [])).map((name) =>
    join('/etc/apt/sources.list.d', name),
  );
  return ['/etc/apt/sources.list', ...more].map((path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  });
}

/** Paragraphs of fields, or lines that begin with `deb`. */
export function mirrorsIn(text: string, suite: string): readonly string[] {
  const fromLines = [...text.matchAll(/^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$/gm)]
    .filter(([, , suites, components]) => suites === suite && has(components, 'main'))
    .map(([, uri = '']) => uri);
  const fromParagraphs = text
    .split(/\n\s*\n/)
    .filter(
      (paragraph) =>
        has(field(paragraph, 'Types'), 'deb') &&
        has(field(paragraph, 'Suites'), suite) &&
        has(field(paragraph, 'Components'), 'main'),
    )
    .flatMap((paragraph) => field(paragraph, 'URIs')?.split(/\s+/)[0] ?? []);
  return [...fromLines, ...fromParagraphs];
}

function field(paragraph: string, name: string): string | undefined {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(paragraph)?.[1];
}

function has(list: string | undefined, word: string): boolean {
  return list?.split(/\s+/).includes(word) === true;
}
