import { existsSync, readFileSync } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { OsDriver } from '../../../../../adapters/host/os/driver';
import type { ImageGate } from '../../../../../adapters/host/os/image-gate';
import { createRpmOstreeDriver } from '../../../../../adapters/host/os/rpm-ostree';
import { fail } from '../../../../../core/errors';
import {
  changes,
  commandFailure,
  context,
  createScriptedRunner,
  digest,
  fixture,
} from './fixtures';

const STATUS = 'rpm-ostree status --json';
const OLD_OSTREE = "libostree:\n Version: '2022.7'\n";
const NEW_OSTREE = "libostree:\n Version: '2024.5'\n";
const image = (character: string): string => `registry.example/os/node@${digest(character)}`;
const id = (character: string, serial = 0): string => `${character.repeat(64)}.${serial}`;

const STAGED = fixture('rpm-ostree/2023.3-staged-locked.json');
/** The state before the update: the booted deployment and the rollback. */
const SETTLED = withoutStaged(STAGED);
const UNLOCKED = STAGED.replace('"finalization-locked": true', '"finalization-locked": false');
const REALTIME = fixture('rpm-ostree/2025.6-realtime-rollback-pending.json');

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rpm-ostree-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

function machine(
  answers: Parameters<typeof createScriptedRunner>[0],
  gate: Partial<ImageGate> = {},
  architecture = 'x64',
) {
  const { run, calls } = createScriptedRunner({ 'ostree --version': NEW_OSTREE, ...answers });
  const images = {
    check: async () => undefined,
    usesSignedForm: async () => false,
    ...gate,
  };
  const pauses: number[] = [];
  const pause = async (ms: number) => void pauses.push(ms);
  const driver = createRpmOstreeDriver({ run, images, root, architecture, pause });
  return { driver, calls, pauses };
}

describe('status', () => {
  it('has kernel arguments from the loader entries, and of the staged one from rpm-ostree', async () => {
    await deployed('5', 0, 'root=UUID=1 ostree=LINK console=ttyS0 "dyndbg=file a +p"');
    const { driver, calls } = machine({
      [STATUS]: STAGED,
      'rpm-ostree kargs --deploy-index=0': 'root=UUID=1 ostree=/ostree/boot.0/x/0 nosmt\n',
    });
    const { booted, staged, rollback, bootId } = await driver.status();
    expect(booted).toEqual({
      id: id('5'),
      image: image('5'),
      digest: digest('5'),
      kernelArguments: ['root=UUID=1', 'console=ttyS0', '"dyndbg=file a +p"'],
      extensions: ['kerberos', 'usbguard'],
      kernelType: 'default',
    });
    expect(staged).toMatchObject({
      id: id('4'),
      locked: true,
      kernelArguments: ['root=UUID=1', 'nosmt'],
    });
    expect(rollback).toMatchObject({ id: id('6', 1), extensions: [] });
    expect(bootId).toMatch(/^[0-9a-f-]{36}$/);
    // The rollback has no entry here, and a staged deployment never has one.
    expect(calls.filter((call) => call.includes('kargs'))).toHaveLength(2);
  });

  it("sees a person's rollback that awaits its reboot", async () => {
    const { booted, rollback, staged } = await machine({ [STATUS]: REALTIME }).driver.status();
    expect(booted.kernelType).toBe('realtime');
    expect(rollback?.id).toBe(id('9'));
    expect(staged).toBeUndefined();
  });

  it('believes the file alone where ostree keeps the lock in a file', async () => {
    const { driver } = machine({ [STATUS]: STAGED, 'ostree --version': OLD_OSTREE });
    expect((await driver.status()).staged?.locked).toBe(false);
    await mkdir(join(root, 'run/ostree'), { recursive: true });
    await writeFile(join(root, 'run/ostree/staged-deployment-locked'), '');
    expect((await driver.status()).staged?.locked).toBe(true);
  });
});

/** The kubelet's pull secret, and the place where programs look for it during a pull. */
async function withPullSecret(): Promise<() => string> {
  await mkdir(join(root, 'var/lib/kubelet'), { recursive: true });
  await writeFile(join(root, 'var/lib/kubelet/config.json'), 'pull secret');
  return () => readFileSync(join(root, 'run/ostree/auth.json'), 'utf8');
}

describe("somebody else's transaction", () => {
  const BUSY = commandFailure('error: Transaction in progress: upgrade');

  it('is waited for by every command that changes something, and named', async () => {
    const { driver, pauses, calls } = machine({
      [STATUS]: [SETTLED, SETTLED, STAGED],
      'rpm-ostree rebase': [BUSY, BUSY, ''],
    });
    const told: string[] = [];

    await driver.stage(image('4'), { ...context, progress: (text) => told.push(text) });

    expect(pauses).toEqual([5_000, 5_000]);
    expect(told).toContainEqual(expect.stringMatching(/waits for another transaction: .*upgrade/));
    expect(calls.filter((call) => call.startsWith('rpm-ostree rebase'))).toHaveLength(3);
  });

  it('that does not end is what it fails with', async () => {
    const { driver, pauses } = machine({ [STATUS]: STAGED, 'rpm-ostree cleanup': BUSY });

    await expect(driver.discard()).rejects.toMatchObject({
      name: 'OsCommandFailed',
      message: expect.stringContaining('Transaction in progress') as string,
    });
    expect(pauses).toHaveLength(59);
  });

  describe('that a process has begun which was killed since', () => {
    const UNDER_WAY = SETTLED.replace(
      /"transaction":\s*null/,
      '"transaction": ["PkgChange", "client(id:cli dbus:1.7)", "/org/projectatomic/rpmostree1/t"]',
    );
    const kernelArguments = { from: [], to: ['nosmt'] };
    const extensions = { from: [], to: ['kerberos', 'usbguard', 'sysstat'], image: 'e@sha256:1' };

    it('keeps the packages that it reads until it has ended', async () => {
      const packages = join(root, 'run/slipway/extensions');
      await mkdir(packages, { recursive: true });
      const more = STAGED.replaceAll('"libkadm5",', '"libkadm5", "sysstat",');
      const { driver, pauses } = machine({ [STATUS]: [UNDER_WAY, UNDER_WAY, STAGED, more] });
      const told: [string, boolean][] = [];
      const progress = (text: string) => void told.push([text, existsSync(packages)]);

      await driver.setExtensions(extensions, { ...context, progress });

      expect(pauses).toEqual([5_000, 5_000]);
      const waits = 'waits for another transaction: PkgChange';
      expect(told.slice(0, 3)).toEqual([
        [waits, true],
        [waits, true],
        ['copying the packages of e@sha256:1', false],
      ]);
    });

    it.each([
      ['an image', (driver: OsDriver) => driver.stage(image('4'), context)],
      [
        'kernel arguments',
        (driver: OsDriver) => driver.setKernelArguments(kernelArguments, context),
      ],
      ['extensions', (driver: OsDriver) => driver.setExtensions(extensions, context)],
      ['a kernel', (driver: OsDriver) => driver.setKernelType('realtime', context)],
    ])('is waited for before %s is decided on, for five minutes', async (_, stage) => {
      const { driver, calls, pauses } = machine({ [STATUS]: UNDER_WAY });

      await expect(stage(driver)).rejects.toMatchObject({
        name: 'OsCommandFailed',
        message: 'rpm-ostree: transaction in progress: PkgChange',
      });
      expect(pauses).toHaveLength(59);
      expect(changes(calls)).toEqual([]);
    });
  });

  it('is distinguished from other failures', async () => {
    const { driver, pauses } = machine({
      [STATUS]: STAGED,
      'rpm-ostree cleanup': commandFailure('error: no space left on device'),
    });

    await expect(driver.discard()).rejects.toMatchObject({ name: 'OsCommandFailed' });
    expect(pauses).toEqual([]);
  });
});

describe('staging an image', () => {
  it("is pulled with the kubelet's pull secret", async () => {
    const lent = await withPullSecret();
    const pulledWith: string[] = [];
    const { driver } = machine({
      [STATUS]: [SETTLED, SETTLED, STAGED],
      'rpm-ostree rebase': () => {
        pulledWith.push(lent());
        return '';
      },
    });
    await driver.stage(image('4'), context);
    expect(pulledWith).toEqual(['pull secret']);
  });

  it('rebases, locked', async () => {
    const { driver, calls } = machine({ [STATUS]: [SETTLED, SETTLED, STAGED] });
    await driver.stage(image('4'), context);
    expect(changes(calls)).toEqual([
      `rpm-ostree rebase --experimental --lock-finalization ostree-unverified-registry:${image('4')}`,
    ]);
  });

  it('asks for the signed form of an image where the policy does', async () => {
    const gate = { usesSignedForm: async () => true };
    const { driver, calls } = machine({ [STATUS]: [SETTLED, SETTLED, STAGED] }, gate);
    await driver.stage(image('4'), context);
    expect(changes(calls)[0]).toMatch(/ ostree-image-signed:docker:\/\/registry\.example/);
  });

  it('locks again what lost its lock, in the way that this ostree has', async () => {
    const lost = { [STATUS]: [SETTLED, SETTLED, UNLOCKED] };
    const recent = machine(lost);
    await recent.driver.stage(image('4'), context);
    expect(changes(recent.calls).at(-1)).toBe('ostree admin lock-finalization');

    const old = machine({ ...lost, 'ostree --version': OLD_OSTREE });
    await old.driver.stage(image('4'), context);
    await expect(access(join(root, 'run/ostree/staged-deployment-locked'))).resolves.toBe(
      undefined,
    );
  });

  it('does nothing when the image is staged or booted', async () => {
    const staged = machine({ [STATUS]: STAGED });
    await staged.driver.stage(image('4'), context);
    expect(changes(staged.calls)).toEqual([]);
    const booted = machine({ [STATUS]: SETTLED });
    await booted.driver.stage(image('5'), context);
    expect(changes(booted.calls)).toEqual([]);
  });

  it('drops another staged deployment first', async () => {
    const { driver, calls } = machine({ [STATUS]: STAGED });
    await expect(driver.stage(image('9'), context)).rejects.toThrow(/is staged, not sha256:999/);
    expect(changes(calls)[0]).toBe('rpm-ostree cleanup --pending');
  });

  it('drops what a process left behind that was stopped on the way, and begins again', async () => {
    const staged = withPackages(STAGED, 0, ['krb5-workstation', 'libkadm5']);
    let state = staged;
    const { driver, calls } = machine({
      [STATUS]: () => state,
      'rpm-ostree cleanup --pending': () => {
        state = SETTLED;
        return '';
      },
      'rpm-ostree rebase': () => {
        state = STAGED;
        return '';
      },
    });
    const repository = join(root, 'etc/yum.repos.d/slipway-extensions.repo');
    await mkdir(join(root, 'etc/yum.repos.d'), { recursive: true });
    await writeFile(repository, '');
    await driver.stage(image('4'), context, 'e@sha256:1');
    expect(changes(calls).filter((call) => call.startsWith('rpm-ostree'))).toEqual([
      'rpm-ostree cleanup --pending',
      `rpm-ostree rebase --experimental --lock-finalization ostree-unverified-registry:${image('4')}`,
    ]);
    await expect(access(repository)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('removes the repository of extensions that was left behind, whatever is staged', async () => {
    const repository = join(root, 'etc/yum.repos.d/slipway-extensions.repo');
    await mkdir(join(root, 'etc/yum.repos.d'), { recursive: true });
    await writeFile(repository, '');
    await machine({ [STATUS]: STAGED }).driver.stage(image('4'), context);
    await expect(access(repository)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('takes another kernel away before the rebase and lays it over the new image', async () => {
    const after = REALTIME.replaceAll('a'.repeat(64), 'd'.repeat(64));
    let state = REALTIME;
    const sources: boolean[] = [];
    const { driver, calls } = machine({
      [STATUS]: () => state,
      'rpm-ostree rebase': () => {
        state = after;
        sources.push(existsSync(join(root, 'etc/yum.repos.d/slipway-extensions.repo')));
        return '';
      },
    });
    await driver.stage(image('d'), context, 'registry.example/extensions@sha256:1');
    expect(sources).toEqual([true]);
    const kernel = 'kernel kernel-core kernel-modules kernel-modules-core kernel-modules-extra';
    const rpmOstree = changes(calls).filter((call) => call.startsWith('rpm-ostree'));
    expect(rpmOstree).toEqual([
      `rpm-ostree override reset --lock-finalization ${kernel} --uninstall kernel-rt-core --uninstall kernel-rt-modules --uninstall kernel-rt-modules-extra`,
      `rpm-ostree rebase --experimental --lock-finalization ostree-unverified-registry:${image('d')}`,
      `rpm-ostree override remove --lock-finalization ${kernel} --install kernel-rt-core --install kernel-rt-modules --install kernel-rt-modules-extra`,
    ]);
    expect(changes(calls)).toContain('podman pull --quiet registry.example/extensions@sha256:1');
  });

  it('blames the registry when the registry does not answer', async () => {
    const gate = { check: async () => Promise.reject(fail('PullFailed', 'connection refused')) };
    const failure = commandFailure('rpm-ostree rebase: error: fetching (exit status 1)');
    const { driver } = machine({ [STATUS]: SETTLED, 'rpm-ostree rebase': failure }, gate);
    await expect(driver.stage(image('4'), context)).rejects.toMatchObject({
      name: 'PullFailed',
      message: 'rpm-ostree rebase: error: fetching (exit status 1); connection refused',
    });
  });

  it('goes on where it stopped when the registry is back', async () => {
    const failure = commandFailure('rpm-ostree rebase: error: fetching (exit status 1)');
    const { driver, calls } = machine({
      [STATUS]: [SETTLED, SETTLED, STAGED],
      'rpm-ostree rebase': [failure, ''],
    });
    await driver.stage(image('4'), context);
    expect(changes(calls).filter((call) => call.includes('rebase'))).toHaveLength(2);
  });

  it('refuses an image without a digest', async () => {
    const { driver, calls } = machine({ [STATUS]: SETTLED });
    await expect(driver.stage('registry.example/os:v1', context)).rejects.toMatchObject({
      name: 'ImageRefused',
    });
    expect(changes(calls)).toEqual([]);
  });
});

describe('kernel arguments, extensions, kernel', () => {
  it('deletes every old argument and appends every new one, once', async () => {
    await deployed('5', 0, 'ro nosmt a b ostree=LINK');
    const change = { from: ['nosmt', 'a b'], to: ['a', 'c=d'] };
    const kargs = ['ro nosmt a b', 'ro a c=d'];
    const first = machine({ [STATUS]: STAGED, 'rpm-ostree kargs --deploy-index': kargs });
    await first.driver.setKernelArguments(change, context);
    expect(changes(first.calls)).toEqual([
      'rpm-ostree kargs --lock-finalization --delete-if-present=nosmt --delete-if-present=a --delete-if-present=b --append=a --append=c=d',
    ]);
    const again = machine({ [STATUS]: STAGED, 'rpm-ostree kargs --deploy-index': 'ro a c=d' });
    await again.driver.setKernelArguments(change, context);
    await again.driver.setKernelArguments({ from: ['nosmt', 'a', 'b'], to: ['a c=d'] }, context);
    expect(changes(again.calls)).toEqual([]);
  });

  it('starts from the arguments in force, whatever an attempt before has left staged', async () => {
    await deployed('5', 0, 'ro nosmt ostree=LINK');
    const left = { [STATUS]: STAGED, 'rpm-ostree kargs --deploy-index': ['ro left', 'ro a'] };
    const { driver, calls } = machine(left);
    await driver.setKernelArguments({ from: ['nosmt'], to: ['a'] }, context);
    expect(changes(calls)).toEqual([
      'rpm-ostree kargs --lock-finalization --delete-if-present=ro --delete-if-present=left --append=ro --append=a',
    ]);
  });

  it('deletes an argument as it is spelled there', async () => {
    await deployed('5', 0, 'ro c=all "d=e f" ostree=LINK');
    const kargs = ['ro c=all "d=e f"', 'ro d="e f"'];
    const { driver, calls } = machine({
      [STATUS]: STAGED,
      'rpm-ostree kargs --deploy-index': kargs,
    });
    const change = { from: ['c="all"', 'd="e f"', 'gone="x"'], to: ['d="e f"'] };
    await driver.setKernelArguments(change, context);
    expect(changes(calls)).toEqual([
      'rpm-ostree kargs --lock-finalization --delete-if-present=c=all --delete-if-present="d=e f" --delete-if-present=gone="x" --append=d="e f"',
    ]);
    await driver.setKernelArguments(change, context);
    expect(changes(calls)).toHaveLength(1);
  });

  it('names an argument that is still there after it was deleted', async () => {
    await deployed('5', 0, 'ro d="e f" ostree=LINK');
    const kargs = 'ro d="e f"';
    const { driver } = machine({ [STATUS]: STAGED, 'rpm-ostree kargs --deploy-index': kargs });
    const change = { from: ['d="e f"'], to: [] };
    await expect(driver.setKernelArguments(change, context)).rejects.toMatchObject({
      name: 'OsCommandFailed',
      message: expect.stringContaining('the staged deployment still has d=…;') as string,
    });
  });

  it('installs what is missing from the extensions image, and cleans up after it', async () => {
    const more = STAGED.replaceAll('"libkadm5",', '"libkadm5", "sysstat",');
    const { driver, calls } = machine({ [STATUS]: [STAGED, more] });
    await driver.setExtensions(
      {
        from: ['kerberos', 'usbguard'],
        to: ['kerberos', 'usbguard', 'sysstat'],
        image: 'e@sha256:1',
      },
      context,
    );
    expect(changes(calls)).toEqual([
      'podman pull --quiet e@sha256:1',
      'podman rm --force --ignore slipway-extensions',
      'podman create --net=none --name slipway-extensions e@sha256:1 true',
      `podman cp slipway-extensions:/usr/share/rpm-ostree/extensions/. ${join(root, 'run/slipway/extensions')}`,
      'podman rm --force --ignore slipway-extensions',
      'rpm-ostree update --lock-finalization --install sysstat',
    ]);
    // The directory did not exist before.
    expect(existsSync(join(root, 'etc/yum.repos.d'))).toBe(false);
  });

  it('leaves the directory of repositories where it found it', async () => {
    const own = join(root, 'etc/yum.repos.d/own.repo');
    await mkdir(dirname(own), { recursive: true });
    await writeFile(own, '[own]\n');
    const more = STAGED.replaceAll('"libkadm5",', '"libkadm5", "sysstat",');
    const { driver } = machine({ [STATUS]: [STAGED, more] });
    await driver.setExtensions(
      { from: [], to: ['kerberos', 'usbguard', 'sysstat'], image: 'e@sha256:1' },
      context,
    );
    expect(await readdir(dirname(own))).toEqual(['own.repo']);
  });

  it('uninstalls what no extension needs any more', async () => {
    const { driver, calls } = machine({ [STATUS]: [STAGED, SETTLED] });
    await driver
      .setExtensions({ from: ['kerberos', 'usbguard'], to: ['kerberos'] }, context)
      .catch((error: Error) => expect(error.message).toMatch(/still needs --uninstall usbguard/));
    expect(changes(calls)).toEqual(['rpm-ostree update --lock-finalization --uninstall usbguard']);
  });

  it('an extensions image that cannot be pulled is retried', async () => {
    const { driver } = machine({
      [STATUS]: STAGED,
      'podman pull': commandFailure('podman pull: no route to host (exit status 125)'),
    });
    await expect(
      driver.setExtensions({ from: [], to: ['sysstat'], image: 'e@sha256:1' }, context),
    ).rejects.toMatchObject({ name: 'PullFailed' });
  });

  it('swaps the kernel, or has it already', async () => {
    const { driver, calls } = machine({ [STATUS]: SETTLED });
    await driver.setKernelType('default', context);
    expect(changes(calls)).toEqual([]);
    await driver.setKernelType('realtime', context);
    expect(changes(calls)[0]).toMatch(/^rpm-ostree override remove --lock-finalization kernel /);
    await driver
      .setKernelType('64k-pages', context)
      .catch((error: Error) =>
        expect(error.message).toBe(
          '64k-pages is only supported for aarch64 architecture; this machine is x64',
        ),
      );
    expect(changes(calls)).toHaveLength(1);
    const arm = machine({ [STATUS]: SETTLED }, {}, 'arm64');
    await arm.driver.setKernelType('64k-pages', context);
    expect(changes(arm.calls)[0]).toMatch(/--install kernel-64k-modules-core/);
  });

  it('an invalid kernel type is refused', async () => {
    const { driver } = machine({ [STATUS]: SETTLED });
    await expect(driver.setKernelType('rt', context)).rejects.toThrow('kernelType=rt is invalid');
  });
});

describe('the end of an update', () => {
  it('finalizing releases the lock and does not reboot', async () => {
    const { driver, calls } = machine({ [STATUS]: STAGED });
    await driver.finalize();
    expect(changes(calls)).toEqual(['ostree admin lock-finalization --unlock']);
  });

  it('finalizing an old ostree removes the file', async () => {
    const file = join(root, 'run/ostree/staged-deployment-locked');
    await mkdir(join(root, 'run/ostree'), { recursive: true });
    await writeFile(file, '');
    const { driver, calls } = machine({ [STATUS]: STAGED, 'ostree --version': OLD_OSTREE });
    await driver.finalize();
    await expect(access(file)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(changes(calls)).toEqual([]);
  });

  it('finalizing nothing is fine', async () => {
    const { driver, calls } = machine({ [STATUS]: SETTLED });
    await driver.finalize();
    expect(changes(calls)).toEqual([]);
  });

  it('discarding drops the staged deployment and its lock file', async () => {
    const file = join(root, 'run/ostree/staged-deployment-locked');
    await mkdir(join(root, 'run/ostree'), { recursive: true });
    await writeFile(file, '');
    const { driver, calls } = machine({ [STATUS]: STAGED });
    await driver.discard();
    expect(changes(calls)).toEqual(['rpm-ostree cleanup --pending']);
    await expect(access(file)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  /** A machine whose two deployments these commands bring into this order. */
  function reordering(commands: Readonly<Record<string, readonly number[]>>) {
    let order: readonly number[] = [0, 1];
    const answers = Object.entries(commands).map(([command, after]) => [
      command,
      () => {
        order = after;
        return '';
      },
    ]);
    return machine({
      [STATUS]: () => withOrder(SETTLED, order),
      ...(Object.fromEntries(answers) as Record<string, () => string>),
    });
  }

  it('rolls back to the deployment that is named', async () => {
    const { driver, calls } = reordering({ 'rpm-ostree rollback': [1, 0] });
    await driver.rollback(id('6', 1));
    expect(changes(calls)).toEqual(['rpm-ostree rollback']);
    await driver.rollback(id('6', 1));
    expect(changes(calls)).toHaveLength(1);
  });

  it('names the deployment where rollback took another one', async () => {
    const { driver, calls } = reordering({ 'ostree admin set-default': [1, 0] });
    await driver.rollback(id('6', 1));
    expect(changes(calls)).toEqual(['rpm-ostree rollback', 'ostree admin set-default 1']);
  });

  it('does not believe that it has worked', async () => {
    await expect(reordering({}).driver.rollback(id('6', 1))).rejects.toThrow(
      /another one is still the default/,
    );
  });

  it('keeps the booted deployment by dropping the staged one', async () => {
    const { driver, calls } = machine({ [STATUS]: [STAGED, STAGED, SETTLED] });
    await driver.rollback(id('5'));
    expect(changes(calls)).toEqual(['rpm-ostree cleanup --pending']);
  });

  it('says when the deployment is gone', async () => {
    const { driver } = machine({ [STATUS]: SETTLED });
    await expect(driver.rollback(id('7'))).rejects.toMatchObject({ name: 'RollbackFailed' });
  });

  it('cleans up the deployment that is named, never the booted one', async () => {
    const { driver, calls } = machine({ [STATUS]: SETTLED });
    await driver.cleanUp(id('5'));
    await driver.cleanUp(id('7'));
    expect(changes(calls)).toEqual([]);
    await driver.cleanUp(id('6', 1));
    expect(changes(calls)).toEqual(['rpm-ostree cleanup --rollback']);
    const pending = machine({ [STATUS]: REALTIME });
    await pending.driver.cleanUp(id('9'));
    expect(changes(pending.calls)).toEqual(['rpm-ostree cleanup --pending']);
  });
});

/** Makes a deployment's directory, ostree's link to it and its loader entry. */
async function deployed(character: string, serial: number, options: string): Promise<void> {
  const link = '/ostree/boot.1/rhcos/bootcsum/0';
  const directory = join(root, `ostree/deploy/rhcos/deploy/${character.repeat(64)}.${serial}`);
  await mkdir(directory, { recursive: true });
  await mkdir(join(root, link, '..'), { recursive: true });
  await symlink(directory, join(root, link));
  await mkdir(join(root, 'boot/loader/entries'), { recursive: true });
  const entry = `title os\nversion 1\noptions ${options.replace('LINK', link)}\nlinux /vmlinuz\n`;
  await writeFile(join(root, 'boot/loader/entries/ostree-1-rhcos.conf'), entry);
}

function withoutStaged(status: string): string {
  const { deployments, ...rest } = JSON.parse(status) as { deployments: { staged: boolean }[] };
  return JSON.stringify({ ...rest, deployments: deployments.filter(({ staged }) => !staged) });
}

/** The status with these packages in one of its deployments. */
function withPackages(status: string, index: number, packages: readonly string[]): string {
  const { deployments } = JSON.parse(status) as { deployments: object[] };
  const changed = { ...deployments[index], packages, 'requested-packages': packages };
  return JSON.stringify({ deployments: deployments.with(index, changed) });
}

function withOrder(status: string, order: readonly number[]): string {
  const { deployments } = JSON.parse(status) as { deployments: unknown[] };
  return JSON.stringify({ deployments: order.map((index) => deployments[index]) });
}
