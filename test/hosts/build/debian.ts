/** A small Debian that can be a Kubernetes node. */

import { readFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
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

export interface DebianSource {
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
