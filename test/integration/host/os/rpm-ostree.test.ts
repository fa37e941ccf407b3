import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { createRpmOstreeDriver } from '../../../../adapters/host/os/rpm-ostree';
import type { OsDriver } from '../../../../adapters/host/os/driver';
import type { PullProgress, StepContext } from '../../../../adapters/host/os/os-status';
import { bootTree, type BootedTree } from './booted-tree';

// Real pulls and deployments, on a busy machine.
jest.setTimeout(180_000);

const context: StepContext = {
  signal: new AbortController().signal,
  progress: () => undefined,
};

let tree: BootedTree;
let driver: OsDriver;
beforeAll(async () => {
  tree = await bootTree('v1');
  driver = driverOf(tree);
}, 600_000);
afterAll(() => tree.close());

/** A boot also starts a new process. */
function driverOf({ run, root }: BootedTree): OsDriver {
  const images = { check: async () => undefined, usesSignedForm: async () => false };
  return createRpmOstreeDriver({ run, root, images, architecture: process.arch });
}

const reboot = async (): Promise<void> => {
  await tree.reboot();
  driver = driverOf(tree);
};
const digestOf = (image: string): string => image.slice(image.indexOf('@') + 1);

describe('rpm-ostree on a real sysroot', () => {
  it('sees what is booted', async () => {
    const status = await driver.status();
    expect(status.booted).toMatchObject({
      kernelArguments: ['ro', 'quiet'],
      extensions: [],
      kernelType: 'default',
    });
    expect(status.booted.image).toContain(`${tree.registry.address}/os@sha256:`);
    expect(status.staged).toBeUndefined();
  });

  it('stages image, arguments, extension and kernel, and none of it takes over by itself', async () => {
    const image = await tree.publish('v2');
    const extensions = await tree.publishPackages({
      usbguard: 'guards',
      'kernel-rt-core': 'real time',
      'kernel-rt-modules': 'modules',
      'kernel-rt-modules-extra': 'more modules',
    });
    const before = await driver.status();
    const pulls: PullProgress[] = [];
    await driver.stage(image, {
      ...context,
      progress: (_text, pull) => (pull === undefined ? undefined : pulls.push(pull)),
    });
    expect(pulls[0]).toMatchObject({ layers: 0, bytes: 0 });
    expect(pulls.at(-1)?.layers).toBeGreaterThan(0);
    expect(pulls.at(-1)?.bytes).toBe(pulls[0]?.totalBytes);
    await driver.setKernelType('realtime', context, extensions);
    await driver.setKernelArguments({ from: ['quiet'], to: ['nosmt', 'a=b'] }, context);
    await driver.setExtensions({ from: [], to: ['usbguard'], image: extensions }, context);
    const { staged } = await driver.status();
    expect(staged).toMatchObject({
      digest: digestOf(image),
      locked: true,
      kernelArguments: ['ro', 'nosmt', 'a=b'],
      extensions: ['usbguard'],
      kernelType: 'realtime',
    });
    await expect(
      access(join(tree.root, 'etc/yum.repos.d/slipway-extensions.repo')),
    ).rejects.toThrow();

    await reboot();
    const after = await driver.status();
    expect(after.booted).toEqual(before.booted);
    expect(after.staged).toBeUndefined();
  });

  it('takes over after it was finalized, and rolls back when told to', async () => {
    const image = await tree.publish('v3');
    const extensions = await tree.publishPackages({ usbguard: 'guards more' });
    const { booted: first } = await driver.status();
    await driver.stage(image, context);
    await driver.setExtensions({ from: [], to: ['usbguard'], image: extensions }, context);
    const { staged } = await driver.status();
    await driver.finalize();
    expect((await driver.status()).staged?.locked).toBe(false);

    await reboot();
    const second = await driver.status();
    expect(second.booted).toMatchObject({ id: staged?.id, digest: digestOf(image) });
    expect(second.rollback?.id).toBe(first.id);
    const directory = second.booted.id;
    expect(await tree.readBooted('usr/lib/version', directory)).toBe('v3');
    expect(await tree.readBooted('usr/lib/usbguard', directory)).toBe('guards more');

    await driver.rollback(first.id);
    await reboot();
    const third = await driver.status();
    expect(third.booted).toEqual(first);
    await driver.cleanUp(second.booted.id);
    expect((await driver.status()).rollback).toBeUndefined();
  });

  it('layers the packages again over the next image', async () => {
    const packages = {
      'kernel-rt-core': 'rt',
      'kernel-rt-modules': 'm',
      'kernel-rt-modules-extra': 'x',
    };
    const extensions = await tree.publishPackages({ usbguard: 'guards', ...packages });
    await driver.setKernelType('realtime', context, extensions);
    await driver.setExtensions({ from: [], to: ['usbguard'], image: extensions }, context);
    await driver.finalize();
    await reboot();
    expect((await driver.status()).booted).toMatchObject({
      kernelType: 'realtime',
      extensions: ['usbguard'],
    });

    const image = await tree.publish('v4');
    await driver.stage(image, context, extensions);
    const { staged, booted } = await driver.status();
    expect(staged).toMatchObject({
      digest: digestOf(image),
      kernelType: 'realtime',
      extensions: ['usbguard'],
      locked: true,
    });
    await driver.discard();
    expect(await driver.status()).toMatchObject({ booted: { id: booted.id } });
    expect((await driver.status()).staged).toBeUndefined();
  });
});
