import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandEnd, RunCommand } from '../../../../../adapters/host/os/command';
import { createOstreeDriver } from '../../../../../adapters/host/os/ostree';
import type { PullProgress } from '../../../../../adapters/host/os/os-status';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGE = `registry.example/os@${DIGEST}`;
const BOOTED = {
  id: 'c0ffee.0',
  stateroot: 'os',
  image: IMAGE,
  digest: DIGEST,
  kernelArguments: ['ro', 'quiet'],
};

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'slipway-ostree-'));
  await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
  await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), 'boot-1\n');
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

/** A driver whose program prints these lines, and its calls. */
function driverWith(lines: readonly unknown[], end: Partial<CommandEnd> = {}) {
  const calls: (readonly string[])[] = [];
  const run: RunCommand = (program, args, options) => {
    calls.push([program, ...args]);
    const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
    texts.forEach((text) => options?.onLine?.(text));
    return Promise.resolve({ status: 0, lines: texts, said: '', ...end });
  };
  const driver = createOstreeDriver({
    run,
    program: '/opt/slipway-ostree',
    root,
    sysroot: root,
    procDirectory: join(root, 'proc'),
    architecture: 'x64',
  });
  return { driver, calls, asked: () => calls.map((words) => words.slice(3)) };
}

function recorder() {
  const seen: { readonly text: string; readonly pull?: PullProgress | undefined }[] = [];
  const signal = new AbortController().signal;
  return {
    seen,
    context: { signal, progress: (text: string, pull?: PullProgress) => seen.push({ text, pull }) },
  };
}

it('tells the deployment from which the boot loader fell back', async () => {
  const of = (id: string, what: 'booted' | 'staged' | 'other') => ({
    ...BOOTED,
    id,
    booted: what === 'booted',
    staged: what === 'staged',
  });
  const deployments = [of('beef.1', 'other'), of('c0ffee.0', 'booted'), of('old.0', 'other')];
  const { driver } = driverWith([
    { booted: deployments[1], rollback: deployments[2], locked: false, deployments },
  ]);

  expect(await driver.status()).toMatchObject({
    booted: { id: 'c0ffee.0' },
    rollback: { id: 'old.0' },
    pending: { id: 'beef.1' },
  });
});

it('reads the deployments', async () => {
  const staged = { ...BOOTED, id: 'beef.1', kernelArguments: ['ro'] };
  const { driver, calls } = driverWith([{ booted: BOOTED, staged, locked: true, deployments: [] }]);
  const plain = { image: IMAGE, digest: DIGEST, extensions: [], kernelType: 'default' };
  expect(await driver.status()).toEqual({
    bootId: 'boot-1',
    booted: { ...plain, id: 'c0ffee.0', kernelArguments: ['ro', 'quiet'] },
    staged: { ...plain, id: 'beef.1', kernelArguments: ['ro'], locked: true },
  });
  expect(calls).toEqual([['/opt/slipway-ostree', '--sysroot', root, 'status']]);
});

it('says that a machine did not boot from ostree', async () => {
  const { driver } = driverWith([{ locked: false, deployments: [] }]);
  await expect(driver.status()).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: expect.stringContaining('did not boot from ostree') as string,
  });
});

it('names the field of an answer that it does not know', async () => {
  const { driver } = driverWith([{ booted: { ...BOOTED, id: 7 }, locked: false }]);
  await expect(driver.status()).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: expect.stringMatching(
      /slipway-ostree status: booted\.id should be a string/,
    ) as string,
  });
});

it('stages and reports how far the pull is', async () => {
  const progress = { bytes: 5, totalBytes: 10, layers: 1, totalLayers: 2 };
  const { driver, asked } = driverWith([{ progress }, 'noise', { changed: true, staged: true }]);
  const { seen, context } = recorder();
  await driver.stage(IMAGE, context);
  expect(asked()).toEqual([['stage', IMAGE]]);
  expect(seen).toEqual([
    { text: `pulling ${IMAGE}`, pull: undefined },
    { text: `pulling ${IMAGE}`, pull: progress },
  ]);
});

it.each(['stage', 'checkImage'] as const)(
  "%s pulls with the kubelet's pull secret",
  async (step) => {
    await mkdir(join(root, 'var/lib/kubelet'), { recursive: true });
    await writeFile(join(root, 'var/lib/kubelet/config.json'), 'pull secret');
    const { driver } = driverWith([{ architecture: 'amd64', missingBytes: 0, bootable: true }]);
    await driver[step](IMAGE, recorder().context);
    await expect(readFile(join(root, 'run/ostree/auth.json'), 'utf8')).resolves.toBe('pull secret');
  },
);

it('has a signature checked where the policy wants one', async () => {
  await mkdir(join(root, 'etc/containers'), { recursive: true });
  const policy = JSON.stringify({ default: [{ type: 'signedBy' }] });
  await writeFile(join(root, 'etc/containers/policy.json'), policy);
  const facts = { architecture: 'amd64', missingBytes: 0, bootable: true };
  const { driver, asked } = driverWith([facts]);
  const { context } = recorder();
  await driver.checkImage(IMAGE, context);
  await driver.stage(IMAGE, context);
  expect(asked()).toEqual([
    ['inspect', IMAGE, '--signed'],
    ['stage', IMAGE, '--signed'],
  ]);
});

it('does not call the program for an image without a digest', async () => {
  const { driver, calls } = driverWith([{}]);
  const { context } = recorder();
  await expect(driver.stage('registry.example/os:v1', context)).rejects.toMatchObject({
    name: 'ImageRefused',
  });
  expect(calls).toEqual([]);
});

it.each(['ImageRefused', 'PullFailed', 'OsCommandFailed'])('passes on %s', async (name) => {
  const { driver } = driverWith([{ error: { name, message: 'because' } }], { status: 1 });
  const { context } = recorder();
  await expect(driver.stage(IMAGE, context)).rejects.toMatchObject({ name, message: 'because' });
});

it('quotes a program that crashes', async () => {
  const { driver } = driverWith(['half a'], { status: 101, said: 'thread main panicked' });
  await expect(driver.discard()).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: 'slipway-ostree discard: thread main panicked (exit status 101)',
  });
});

it('deletes every old kernel argument and appends every new one, word by word', async () => {
  const booted = { ...BOOTED, kernelArguments: ['ro', '"a=1"', 'b', 'quiet'] };
  const { driver, asked } = driverWith([{ booted, locked: false, deployments: [] }]);
  const { context } = recorder();
  await driver.setKernelArguments({ from: ['a=1 b', 'gone="x y"'], to: ['b', 'c="d e"'] }, context);
  expect(asked()).toEqual([
    ['status'],
    [
      'kernel-arguments',
      // Spelled as in the deployment: the program compares texts.
      '--delete-if-present="a=1"',
      '--delete-if-present=b',
      '--delete-if-present=gone="x y"',
      '--append=b',
      '--append=c="d e"',
    ],
  ]);
});

it('refuses packages and other kernels by name, and asks nobody for none', async () => {
  const { driver, calls } = driverWith([{}]);
  const { context } = recorder();
  await driver.setExtensions({ from: [], to: [] }, context);
  await driver.setKernelType('default', context);
  await expect(driver.setExtensions({ from: [], to: ['usbguard'] }, context)).rejects.toMatchObject(
    { name: 'Unreconcilable', message: expect.stringContaining('extensions usbguard: ') as string },
  );
  await expect(driver.setKernelType('realtime', context)).rejects.toMatchObject({
    name: 'Unreconcilable',
    message: expect.stringContaining('build them into the OS image') as string,
  });
  expect(calls).toEqual([]);
});

it('releases, drops, rolls back and cleans up by the words of the program', async () => {
  const { driver, asked } = driverWith([{}]);
  await driver.finalize();
  await driver.discard();
  await driver.rollback('c0ffee.0');
  await driver.cleanUp('beef.1');
  expect(asked()).toEqual([
    ['finalize'],
    ['discard'],
    ['rollback', 'c0ffee.0'],
    ['clean-up', 'beef.1'],
  ]);
});
