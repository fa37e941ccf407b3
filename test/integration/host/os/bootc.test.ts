import { createBootcDriver } from '../../../../adapters/host/os/bootc';
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

function driverOf({ run, root }: BootedTree): OsDriver {
  const images = { check: async () => undefined, usesSignedForm: async () => false };
  return createBootcDriver({ run, root, images });
}

const reboot = async (): Promise<void> => {
  await tree.reboot();
  driver = driverOf(tree);
};
const digestOf = (image: string): string => image.slice(image.indexOf('@') + 1);

describe('bootc on a real sysroot', () => {
  it('stages an image with the lock of ostree, which a reboot drops', async () => {
    const image = await tree.publish('v2');
    const before = await driver.status();
    const pulls: PullProgress[] = [];
    await driver.stage(image, {
      ...context,
      progress: (_text, pull) => (pull === undefined ? undefined : pulls.push(pull)),
    });
    expect((await driver.status()).staged).toMatchObject({ digest: digestOf(image), locked: true });
    expect(pulls.at(-1)?.layers).toBeGreaterThan(0);
    await reboot();
    expect((await driver.status()).booted).toEqual(before.booted);
  });

  it('takes over after it was finalized, and rolls back when told to', async () => {
    const image = await tree.publish('v3');
    const { booted: first } = await driver.status();
    await driver.stage(image, context);
    const { staged } = await driver.status();
    await driver.finalize();
    await reboot();
    const second = await driver.status();
    expect(second.booted).toMatchObject({ id: staged?.id, digest: digestOf(image) });
    expect(second.booted.kernelArguments).toEqual(['ro', 'quiet']);
    expect(await tree.readBooted('usr/lib/version', second.booted.id)).toBe('v3');

    await driver.rollback(first.id);
    await reboot();
    expect((await driver.status()).booted).toEqual(first);
    await driver.cleanUp(second.booted.id);
    expect((await driver.status()).rollback).toBeUndefined();
  });

  it('drops what is staged', async () => {
    const image = await tree.publish('v4');
    await driver.stage(image, context);
    await driver.discard();
    expect((await driver.status()).staged).toBeUndefined();
  });
});
