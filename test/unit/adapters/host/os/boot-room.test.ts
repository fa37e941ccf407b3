/** The check of a boot directory before a deployment is staged that needs space there. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkBootRoom, type Space } from '../../../../../adapters/host/os/boot-room';

const MIB = 1024 * 1024;
const context = { signal: new AbortController().signal, progress: () => undefined };

describe('the boot directory', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-boot-'));
    mkdirSync(join(root, 'boot'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const run = async (program: string): Promise<never> => {
    throw new Error(`${program} was run`);
  };
  const check = (kernel: boolean, space?: Space) =>
    checkBootRoom(
      { root, run, ...(space === undefined ? {} : { spaceOf: async () => space }) },
      { kernel },
      context,
    );

  function kernel(name: string, mib: number): void {
    const directory = join(root, 'boot/ostree', `os-${name}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'vmlinuz-6.1'), Buffer.alloc(mib * MIB));
    writeFileSync(join(directory, 'initramfs-6.1.img'), Buffer.alloc(mib * MIB));
  }

  it('is not looked for on machines that have none', async () => {
    rmSync(join(root, 'boot'), { recursive: true });
    await check(true);
  });

  it('is fine on a disk with room', async () => {
    kernel('a', 1);
    await check(true);
  });

  it('needs room for one more kernel like the largest', async () => {
    kernel('a', 2);
    await check(true, { bytes: 5 * MIB });
    await expect(check(true, { bytes: 5 * MIB - 1 })).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: expect.stringMatching(
        /boot: it has 5242879 bytes left, .* kernel needs 5242880;/,
      ) as string,
      details: { path: join(root, 'boot') },
    });
  });

  it('counts what goes for it: kernels of deployments that are not booted', async () => {
    kernel('a', 2);
    kernel('b', 1);
    await check(true, { bytes: 3 * MIB });
    await expect(check(true, { bytes: 3 * MIB - 1 })).rejects.toThrow('needs 3145728');
  });

  it('needs little room for an entry that goes with a kernel that is there', async () => {
    kernel('a', 2);
    await check(false, { bytes: MIB });
    await expect(check(false, { bytes: 0 })).rejects.toThrow(/an entry of the boot loader needs/);
  });

  it('needs room for files, too, where these are counted', async () => {
    await check(false, { bytes: MIB });
    await expect(check(false, { bytes: MIB, files: 3 })).rejects.toThrow(/only 3 more files fit/);
  });
});
