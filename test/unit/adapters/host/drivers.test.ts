import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostFiles, createNoneDriver, createSystemctl } from '../../../../adapters/host';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-drivers-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the driver "none"', () => {
  it('reads boot ID and arguments of the running kernel', async () => {
    mkdirSync(join(directory, 'sys/kernel/random'), { recursive: true });
    writeFileSync(join(directory, 'sys/kernel/random/boot_id'), 'abc\n');
    writeFileSync(join(directory, 'cmdline'), 'ro root=/dev/vda1 name="a b"\n');

    expect(await createNoneDriver(directory).status()).toMatchObject({
      bootId: 'abc',
      booted: { kernelArguments: ['ro', 'root=/dev/vda1', 'name="a b"'] },
    });
  });

  it('refuses to change the operating system, and says what it was asked', async () => {
    const driver = createNoneDriver(directory);

    const context = { signal: new AbortController().signal, progress: () => undefined };

    await expect(driver.stage('quay.io/os', context)).rejects.toThrow(/stage OS image quay.io\/os/);
    await expect(
      driver.setKernelArguments({ from: [], to: ['nosmt'] }, context),
    ).rejects.toMatchObject({ name: 'Unreconcilable' });
  });
});

describe('systemctl', () => {
  const fake = (script: string): string => {
    const path = join(directory, 'systemctl');
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  };
  const files = () => createHostFiles({ root: directory });

  it('is told of enablement, reloads and restarts', async () => {
    const log = join(directory, 'calls');
    const systemd = createSystemctl(files(), fake(`echo "$@" >> ${log}`));

    await systemd.setEnablement([
      { unit: 'a.service', wish: 'enable' },
      { unit: 'b.service', wish: 'disable' },
      { unit: 'c.service', wish: 'preset' },
    ]);
    await systemd.daemonReload();
    await systemd.reload('crio.service');
    await systemd.restart('kubelet.service');

    expect(readFileSync(log, 'utf8').trim().split('\n')).toEqual([
      'disable -- a.service',
      'enable -- a.service',
      'disable -- b.service',
      'preset -- c.service',
      'daemon-reload',
      'reload -- crio.service',
      'restart -- kubelet.service',
    ]);
  });

  it('says what was tried and what systemd answered', async () => {
    const systemd = createSystemctl(files(), fake('echo "Unit x.service not found." >&2; exit 5'));

    await expect(systemd.restart('x.service')).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: 'systemctl restart x.service: Unit x.service not found.',
    });
  });
});
