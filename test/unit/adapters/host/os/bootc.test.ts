import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBootcDriver } from '../../../../../adapters/host/os/bootc';
import type { ImageGate } from '../../../../../adapters/host/os/image-gate';
import type { PullProgress } from '../../../../../adapters/host/os/os-status';
import { fail } from '../../../../../core/errors';
import {
  changes,
  commandFailure,
  context,
  createScriptedRunner,
  digest,
  fixture,
} from './fixtures';

const STATUS = 'bootc status --json';
const image = (character: string) => `registry.example/os/node@${digest(character)}`;
const id = (character: string, serial = 0) => `${character.repeat(64)}.${serial}`;
const STAGED = fixture('bootc/v1beta1-0.1.9-staged.json');
const QUEUED = fixture('bootc/v1-1.1.2-rollback-queued.json');
const LOCKED = fixture('bootc/v1-1.12.0-download-only.json');
const COMPOSEFS = fixture('bootc/v1-1.12.0-composefs.json');
const SETTLED = withStatus(STAGED, { staged: null });

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'bootc-'));
  await mkdir(join(root, 'proc'));
  await writeFile(join(root, 'proc/cmdline'), 'root=UUID=1 ostree=/ostree/boot.1/x/0 quiet\n');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const lockFile = () => join(root, 'run/ostree/staged-deployment-locked');

function machine(
  answers: Parameters<typeof createScriptedRunner>[0],
  gate: Partial<ImageGate> = {},
) {
  const { run, calls } = createScriptedRunner({
    'ostree --version': "libostree:\n Version: '2024.5'\n",
    'bootc --version': 'bootc 1.1.2\n',
    ...answers,
  });
  const images = { check: async () => undefined, usesSignedForm: async () => false, ...gate };
  return { driver: createBootcDriver({ run, images, root }), calls };
}

async function withRpmOstree(): Promise<void> {
  await mkdir(join(root, 'usr/bin'), { recursive: true });
  await writeFile(join(root, 'usr/bin/rpm-ostree'), '');
}

describe('status', () => {
  it('has the arguments of the running kernel where the loader entries have none', async () => {
    const status = await machine({ [STATUS]: LOCKED }).driver.status();
    expect(status.booted).toEqual({
      id: id('5'),
      image: image('5'),
      digest: digest('5'),
      kernelArguments: ['root=UUID=1', 'quiet'],
      extensions: [],
      kernelType: 'default',
    });
    expect(status.staged).toMatchObject({
      locked: true,
      kernelArguments: ['root=UUID=1', 'quiet'],
    });
    expect(status.rollback?.id).toBe(id('6'));
  });

  it('has the staged arguments from rpm-ostree where it is', async () => {
    await withRpmOstree();
    const { driver } = machine({
      [STATUS]: STAGED,
      'rpm-ostree kargs --deploy-index=0': 'root=UUID=1 nosmt\n',
    });
    expect((await driver.status()).staged).toMatchObject({
      kernelArguments: ['root=UUID=1', 'nosmt'],
      locked: false,
    });
  });

  it('reads the arguments of a composefs deployment from its loader entry', async () => {
    await mkdir(join(root, 'boot/loader/entries'), { recursive: true });
    const verity = 'a'.repeat(64) + 'b'.repeat(64);
    const entry = `title os\noptions root=UUID=2 composefs=${verity}\noptions nosmt\n`;
    await writeFile(join(root, 'boot/loader/entries/bootc.conf'), entry);
    const { booted } = await machine({ [STATUS]: COMPOSEFS }).driver.status();
    expect(booted).toMatchObject({ id: verity, kernelArguments: ['root=UUID=2', 'nosmt'] });
  });
});

/** The kubelet's pull secret, and the place where programs look for it during a pull. */
async function withPullSecret(): Promise<() => string> {
  await mkdir(join(root, 'var/lib/kubelet'), { recursive: true });
  await writeFile(join(root, 'var/lib/kubelet/config.json'), 'pull secret');
  return () => readFileSync(join(root, 'run/ostree/auth.json'), 'utf8');
}

describe('staging an image', () => {
  it("is pulled with the kubelet's pull secret", async () => {
    const lent = await withPullSecret();
    const pulledWith: string[] = [];
    const { driver } = machine({
      [STATUS]: [SETTLED, SETTLED, STAGED],
      'bootc switch': () => {
        pulledWith.push(lent());
        return '';
      },
    });
    await driver.stage(image('2'), context);
    expect(pulledWith).toEqual(['pull secret']);
  });

  it('is locked before it is there', async () => {
    const locked: boolean[] = [];
    const { driver, calls } = machine({
      [STATUS]: [SETTLED, SETTLED, STAGED],
      'bootc switch': () => {
        locked.push(existsSync(lockFile()));
        return '';
      },
    });
    await driver.stage(image('2'), context);
    expect(changes(calls)).toEqual([`bootc switch --transport registry ${image('2')}`]);
    expect(locked).toEqual([true]);
  });

  it('is locked again where ostree dropped the file', async () => {
    const { driver, calls } = machine({
      [STATUS]: [SETTLED, SETTLED, STAGED],
      'bootc switch': () => {
        rmSync(lockFile());
        return '';
      },
    });
    await driver.stage(image('2'), context);
    expect(changes(calls).at(-1)).toBe('ostree admin lock-finalization');
  });

  it('leaves no lock behind when it fails', async () => {
    const { driver } = machine({
      [STATUS]: SETTLED,
      'bootc switch': commandFailure('bootc switch: error: no space (exit status 1)'),
    });
    await expect(driver.stage(image('2'), context)).rejects.toMatchObject({
      name: 'OsCommandFailed',
    });
    expect(existsSync(lockFile())).toBe(false);
  });

  it('blames the registry when the registry does not answer', async () => {
    const gate = { check: async () => Promise.reject(fail('PullFailed', 'connection refused')) };
    const failure = commandFailure('bootc switch: error (exit status 1)');
    const { driver } = machine({ [STATUS]: SETTLED, 'bootc switch': failure }, gate);
    await expect(driver.stage(image('2'), context)).rejects.toMatchObject({ name: 'PullFailed' });
  });

  it('has bootc enforce the signature policy where its default asks for a signature', async () => {
    const gate = { usesSignedForm: async () => true };
    const { driver, calls } = machine({ [STATUS]: [SETTLED, SETTLED, STAGED] }, gate);
    await driver.stage(image('2'), context);
    expect(changes(calls)[0]).toMatch(/^bootc switch --enforce-container-sigpolicy /);
  });

  it('does nothing when it is booted, and locks what is staged', async () => {
    const booted = machine({ [STATUS]: SETTLED });
    await booted.driver.stage(image('3'), context);
    expect(changes(booted.calls)).toEqual([]);
    const staged = machine({ [STATUS]: STAGED });
    await staged.driver.stage(image('2'), context);
    expect(changes(staged.calls)).toEqual(['ostree admin lock-finalization']);
  });

  it('with composefs uses the lock of bootc itself', async () => {
    const staged = withStatus(COMPOSEFS, { staged: stagedOf(COMPOSEFS, '4') });
    const { driver, calls } = machine({ [STATUS]: [COMPOSEFS, COMPOSEFS, staged] });
    await driver.stage(image('4'), context);
    expect(changes(calls)).toEqual([
      `bootc switch --download-only --transport registry ${image('4')}`,
    ]);
    const end = machine({ [STATUS]: staged });
    await end.driver.finalize();
    expect(changes(end.calls)).toEqual(['bootc switch --from-downloaded']);
  });

  it('reports layers and bytes where bootc does', async () => {
    const pulls: PullProgress[] = [];
    const { run } = createScriptedRunner({
      'bootc --version': 'bootc 1.12.0\n',
      [STATUS]: [SETTLED, SETTLED, STAGED],
      'ostree --version': "libostree:\n Version: '2024.5'\n",
    });
    const words: (readonly string[])[] = [];
    const driver = createBootcDriver({
      run: async (program, line, options) => {
        if (line[0] === 'switch') words.push(line);
        options?.onProgressLine?.('{"type":"ProgressBytes","bytes":5,"steps":1,"stepsTotal":2}');
        return run(program, line, options);
      },
      images: { check: async () => undefined, usesSignedForm: async () => false },
      root,
    });
    await driver.stage(image('2'), {
      ...context,
      progress: (_text, pull) => (pull === undefined ? undefined : pulls.push(pull)),
    });
    expect(words[0]?.slice(0, 3)).toEqual(['switch', '--progress-fd', '3']);
    expect(pulls).toEqual([{ bytes: 5, layers: 1, totalLayers: 2 }]);
  });

  it('refuses an image without a digest', async () => {
    await expect(
      machine({ [STATUS]: SETTLED }).driver.stage('registry.example/os:v1', context),
    ).rejects.toMatchObject({ name: 'ImageRefused' });
  });
});

describe('what bootc does not do', () => {
  it('is said before and refused when asked for', async () => {
    const { driver, calls } = machine({ [STATUS]: SETTLED });
    expect(Object.keys(driver.lacks).sort()).toEqual([
      'extensions',
      'kernelArguments',
      'kernelType',
    ]);
    await expect(driver.setExtensions({ from: [], to: ['usbguard'] }, context)).rejects.toThrow(
      /extensions usbguard: bootc layers no packages/,
    );
    await expect(driver.setKernelType('realtime', context)).rejects.toThrow(/does not swap/);
    await expect(
      driver.setKernelArguments({ from: [], to: ['nosmt'] }, context),
    ).rejects.toMatchObject({ name: 'Unreconcilable' });
    await driver.setExtensions({ from: [], to: [] }, context);
    await driver.setKernelType('default', context);
    await driver.setKernelArguments({ from: [], to: [] }, context);
    expect(calls).toEqual([]);
  });

  it('rpm-ostree does where it is', async () => {
    await withRpmOstree();
    const { driver, calls } = machine({
      [STATUS]: LOCKED,
      'rpm-ostree kargs --deploy-index': ['root=UUID=1 quiet', 'root=UUID=1 b'],
    });
    expect(driver.lacks).not.toHaveProperty('kernelArguments');
    await driver.setKernelArguments({ from: ['"quiet"'], to: ['b'] }, context);
    expect(changes(calls)).toEqual([
      'rpm-ostree kargs --lock-finalization --delete-if-present=quiet --append=b',
    ]);
  });
});

describe('the end of an update', () => {
  it('finalizing releases the lock', async () => {
    const { driver, calls } = machine({ [STATUS]: LOCKED });
    await driver.finalize();
    expect(changes(calls)).toEqual(['ostree admin lock-finalization --unlock']);
    const none = machine({ [STATUS]: SETTLED });
    await none.driver.finalize();
    expect(changes(none.calls)).toEqual([]);
  });

  it('discarding drops the staged deployment', async () => {
    const { driver, calls } = machine({ [STATUS]: STAGED });
    await driver.discard();
    expect(changes(calls)).toEqual(['ostree admin undeploy 0']);
    await withRpmOstree();
    const both = machine({ [STATUS]: STAGED });
    await both.driver.discard();
    expect(changes(both.calls)).toEqual(['rpm-ostree cleanup --pending']);
  });

  it('rolls back to the deployment that is named, and back again', async () => {
    let queued = false;
    const { driver, calls } = machine({
      [STATUS]: () => withStatus(QUEUED, { rollbackQueued: queued }),
      'bootc rollback': () => {
        queued = !queued;
        return '';
      },
    });
    await driver.rollback(id('7'));
    expect(changes(calls)).toEqual([]);
    await driver.rollback(id('8'));
    await driver.rollback(id('8'));
    expect(changes(calls)).toEqual(['bootc rollback']);
    await driver.rollback(id('7'));
    expect(queued).toBe(false);
    await expect(driver.rollback(id('9'))).rejects.toMatchObject({ name: 'RollbackFailed' });
  });

  it('cleans up the rollback, unless somebody pinned it', async () => {
    const pinned = machine({ [STATUS]: QUEUED });
    await pinned.driver.cleanUp(id('8'));
    expect(changes(pinned.calls)).toEqual([]);
    const { driver, calls } = machine({ [STATUS]: LOCKED });
    await driver.cleanUp(id('5'));
    expect(changes(calls)).toEqual([]);
    await driver.cleanUp(id('6'));
    expect(changes(calls)).toEqual(['ostree admin undeploy 2']);
  });
});

function withStatus(host: string, change: Readonly<Record<string, unknown>>): string {
  const { status, ...rest } = JSON.parse(host) as { status: Record<string, unknown> };
  return JSON.stringify({ ...rest, status: { ...status, ...change } });
}

/** A staged entry like the booted one of this host, of another image, locked. */
function stagedOf(host: string, character: string): unknown {
  const { status } = JSON.parse(host) as {
    status: { booted: { image: object; composefs: object } };
  };
  return {
    ...status.booted,
    image: { ...status.booted.image, imageDigest: digest(character) },
    downloadOnly: true,
  };
}
