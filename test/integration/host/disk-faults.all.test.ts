/**
 * Small real ext4 file systems become full or read-only in the middle of an update, which fails and undoes itself.
 */

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostActivities } from '../../../activities/host/host-activities';
import { type FileSystem, NODE_FILE_SYSTEM } from '../../../adapters/host';
import { treeOf } from '../../unit/adapters/host/trees';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../../unit/host/a-host';

const MIB = 1024 * 1024;
const file = (name: string, text: string, kib: number) =>
  aFile(`/etc/files/${name}`, text.repeat(kib * 1024));
/** Number of files that are replaced at a time. */
const BATCH = 64;
const TEMPORARY = '/.slipway-';
const NAMES = Array.from({ length: BATCH + 16 }, (_, index) => `file-${index}`);

const OLD = aConfig('rendered-worker-old', {
  config: {
    storage: { files: [...NAMES.map((name) => file(name, 'o', 16)), file('gone', 'g', 64)] },
  },
});
/** Smaller, so that the undo needs more space than it frees. */
const NEW = aConfig('rendered-worker-new', {
  config: { storage: { files: [...NAMES.map((name) => file(name, 'n', 1)), file('new', 'x', 8)] } },
});

function refuseWithoutRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new Error('run these tests as root: they mount file systems');
}

jest.setTimeout(120_000);

describe('a host whose disk fails', () => {
  let host: TestHost;
  let images: string;
  let before: Readonly<Record<string, string>>;
  const mounts: string[] = [];
  const at = (path: string) => join(host.root, path);

  beforeAll(refuseWithoutRoot);
  beforeEach(async () => {
    images = mkdtempSync(join(tmpdir(), 'slipway-disks-'));
    host = await aHost([OLD, NEW]);
  });
  afterEach(() => {
    for (const path of mounts.splice(0).reverse()) execFileSync('umount', ['--lazy', path]);
    host.remove();
    rmSync(images, { recursive: true, force: true });
  });

  function diskAt(path: string, mib: number): void {
    const image = join(images, path.replaceAll('/', '_'));
    const kept = `${image}-kept`;
    mkdirSync(at(path), { recursive: true });
    execFileSync('cp', ['-a', at(path), kept]);
    closeSync(openSync(image, 'w'));
    truncateSync(image, mib * MIB);
    execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image]);
    try {
      execFileSync('mount', ['-o', 'loop', image, at(path)], { stdio: 'pipe' });
    } catch {
      // On machines without loop devices; full and read-only give the same errors there.
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'slipway-test', at(path)]);
    }
    mounts.push(at(path));
    execFileSync('cp', ['-a', `${kept}/.`, at(path)]);
    rmSync(kept, { recursive: true });
  }

  function fill(path: string): void {
    const fd = openSync(join(at(path), 'filler'), 'a');
    for (const size of [64 * 1024, 4096, 512]) {
      try {
        for (;;) writeSync(fd, Buffer.alloc(size, 'f'));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
    fsyncSync(fd);
    closeSync(fd);
  }

  const remount = (path: string, how: 'ro' | 'rw'): void =>
    void execFileSync('mount', ['-o', `remount,${how}`, at(path)]);

  /** A process on this host; `happens` is called once, when half of the files are replaced. */
  async function activities(happens?: () => void) {
    let replaced = 0;
    const fs: FileSystem = {
      ...NODE_FILE_SYSTEM,
      async rename(from, to) {
        await NODE_FILE_SYSTEM.rename(from, to);
        replaced += 1;
      },
      // No file is open for writing now: otherwise the disk could not become read-only.
      async open(path, flags, mode) {
        const isDue =
          replaced >= BATCH && typeof flags === 'number' && String(path).includes(TEMPORARY);
        if (isDue) happens?.();
        if (isDue) happens = undefined;
        return NODE_FILE_SYSTEM.open(path, flags, mode);
      },
    };
    // The rollback pauses between attempts.
    return createHostActivities({ ...(await host.ports(fs)), pause: async () => undefined });
  }

  type Step =
    'prepareUpdate' | 'applyUpdate' | 'verifyUpdate' | 'commitUpdate' | 'goBack' | 'verifyBack';
  async function step(name: Step, config = NEW): Promise<unknown> {
    const orderId = `${config.reference.name}/${name}`;
    return (await activities())[name]({ ...orderFor(config, name), orderId });
  }

  async function install(): Promise<void> {
    for (const name of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
      await step(name, OLD);
    }
    await step('prepareUpdate');
    before = treeOf(host.root);
  }

  const withoutFillers = () => {
    const tree = Object.entries(treeOf(host.root));
    return Object.fromEntries(tree.filter(([name]) => !name.endsWith('filler')));
  };
  const journals = () => {
    const directory = at('/var/lib/slipway/journal');
    return existsSync(directory) ? readdirSync(directory) : [];
  };

  it.each([
    ['one disk for everything', ['/'], ['/']],
    ['/etc and /var on disks of their own, both full', ['/etc', '/var'], ['/etc', '/var']],
    ['/etc on a full disk of its own', ['/etc', '/var'], ['/etc']],
    ['/var on a full disk of its own', ['/etc', '/var'], ['/var']],
  ])('rolls back although not a block is left: %s', async (_what, disks, full) => {
    for (const path of disks) diskAt(path, 12);
    await install();
    await step('applyUpdate');
    expect(withoutFillers()).not.toEqual(before);
    for (const path of full) fill(path);

    await step('goBack');
    expect(withoutFillers()).toEqual(before);
    await step('verifyBack');

    expect(withoutFillers()).toEqual(before);
    expect(journals()).toEqual([]);
  });

  it.each([['/'], ['/etc']])(
    'undoes an update that finds %s full in its middle, without a block to spare',
    async (disk) => {
      diskAt('/', 12);
      if (disk !== '/') diskAt(disk, 12);
      await install();
      const order = { ...orderFor(NEW, 'applyUpdate'), orderId: 'rendered-worker-new/applyUpdate' };
      const failing = await activities(() => fill(disk));
      await expect(failing.applyUpdate(order)).rejects.toMatchObject({
        name: 'ApplyFailed',
        message: expect.stringMatching(/no space left on device \(ENOSPC\)/) as string,
      });
      // Fills blocks that the failed update has freed.
      fill(disk);

      await step('goBack');
      await step('verifyBack');

      expect(withoutFillers()).toEqual(before);
      expect(journals()).toEqual([]);
    },
  );

  it.each([
    ['everything', ['/'], '/', 'ApplyFailed'],
    ['/etc', ['/etc', '/var'], '/etc', 'ApplyFailed'],
    ['/var', ['/etc', '/var'], '/var', 'JournalFailed'],
  ])(
    'when %s becomes read-only in the middle: says so, and undoes it once it can',
    async (_what, disks, path, name) => {
      for (const disk of disks) diskAt(disk, 12);
      await install();
      const failing = await activities(() => remount(path, 'ro'));
      const order = { ...orderFor(NEW, 'applyUpdate'), orderId: 'rendered-worker-new/applyUpdate' };
      await expect(failing.applyUpdate(order)).rejects.toMatchObject({
        name,
        message: expect.stringMatching(/read-only file system \(EROFS\)/) as string,
      });
      await expect(step('goBack')).rejects.toMatchObject({
        message: expect.stringMatching(/read-only file system \(EROFS\)/) as string,
      });

      remount(path, 'rw');
      await step('goBack');
      await step('verifyBack');

      expect(treeOf(host.root)).toEqual(before);
      expect(journals()).toEqual([]);
    },
  );
});
