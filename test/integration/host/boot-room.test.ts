/** A full or read-only boot directory, on real file systems, is found while an update is prepared. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../activities/host/host-activities';
import { runCommand } from '../../../adapters/host';
import { checkBootRoom } from '../../../adapters/host/os/boot-room';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../../unit/host/a-host';

const MIB = 1024 * 1024;
const NEW = aConfig('rendered-worker-new', {
  osImageURL: 'quay.io/os@sha256:1',
  kernelArguments: ['nosmt'],
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});
const SAME_OS = aConfig('rendered-worker-files', {
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});

jest.setTimeout(60_000);

describe('an update whose deployment has to get into the boot directory', () => {
  let host: TestHost;
  const mounts: string[] = [];
  const boot = () => join(host.root, 'boot');

  beforeAll(() => {
    if (process.getuid?.() === 0) return;
    throw new Error('run these tests as root: they mount file systems');
  });
  beforeEach(async () => {
    host = await aHost([NEW, SAME_OS]);
    mkdirSync(boot());
  });
  afterEach(() => {
    for (const path of mounts.splice(0).reverse()) execFileSync('umount', ['--lazy', path]);
    host.remove();
  });

  function mount(type: string, options: string, at: string): void {
    mkdirSync(at, { recursive: true });
    execFileSync('mount', ['-t', type, '-o', options, 'slipway-test', at], { stdio: 'pipe' });
    mounts.push(at);
  }
  const isReadOnly = () => {
    const options = execFileSync('findmnt', ['-n', '-o', 'OPTIONS', boot()], { encoding: 'utf8' });
    return options.split(',').includes('ro');
  };

  async function prepare(config = NEW): Promise<unknown> {
    const ports = await host.ports();
    const os = {
      ...ports.os,
      checkBoot: (needs: { readonly kernel: boolean }) =>
        checkBootRoom({ root: host.root, run: runCommand }, needs, ports.context()),
    };
    return createHostActivities({ ...ports, os }).prepareUpdate(orderFor(config, 'prepareUpdate'));
  }

  async function expectNothingStaged(): Promise<void> {
    const { os, journal } = await host.ports();
    expect((await os.status()).staged).toBeUndefined();
    expect(await journal.open()).toBeUndefined();
  }

  it('is refused when there is no room for its kernel', async () => {
    mount('tmpfs', 'size=4m', boot());
    mkdirSync(join(boot(), 'ostree/os-1'), { recursive: true });
    writeFileSync(join(boot(), 'ostree/os-1/vmlinuz'), Buffer.alloc(2 * MIB));

    await expect(prepare()).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: expect.stringMatching(
        /write .*\/boot: it has 2097152 bytes left, a deployment with a kernel needs 3145728/,
      ) as string,
    });
    await expectNothingStaged();
  });

  it('is refused when the disk is write-protected', async () => {
    // An overlay without an upper directory is read-only, for root and for every remount.
    const parts = ['one', 'two'].map((name) => join(host.root, 'parts', name));
    for (const part of parts) mkdirSync(part, { recursive: true });
    mount('overlay', `lowerdir=${parts.join(':')}`, boot());

    await expect(prepare()).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: expect.stringMatching(
        /boot: it is read-only, and stays so when it is remounted: ./,
      ) as string,
    });
    await expectNothingStaged();
  });

  it('is prepared when it is only mounted read-only, as ostree can do with that', async () => {
    mount('tmpfs', 'ro,size=64m', boot());

    await prepare();

    expect(isReadOnly()).toBe(true);
    expect((await (await host.ports()).os.status()).staged?.image).toBe('quay.io/os@sha256:1');
  });

  it('does not matter when no deployment is made', async () => {
    mount('tmpfs', 'size=4k', boot());
    writeFileSync(join(boot(), 'filler'), Buffer.alloc(4096));

    await prepare(SAME_OS);
  });
});
