/**
 * The ostree driver on a machine that ostree takes for booted: deployments are really staged, locked, released and
 * finalized, with the real program and a real registry.
 */

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OsDriver } from '../../../../adapters/host/os/driver';
import { bootTree, type BootedTree, ostreeDriverOf } from './booted-tree';

// The program may have to be built.
jest.setTimeout(30 * 60_000);

const CONTEXT = { signal: new AbortController().signal, progress: (): void => undefined };

let tree: BootedTree;
let driver: OsDriver;
let lockFile: string;
let v2: string;
let v3: string;

beforeEach(async () => {
  tree = await bootTree('v1');
  driver = await ostreeDriverOf(tree);
  lockFile = join(dirname(tree.root), 'run/ostree/staged-deployment-locked');
  v2 = await tree.publish('v2');
  v3 = await tree.publish('v3');
});

afterEach(async () => {
  await tree.close();
});

const bootedVersion = () => tree.readBooted('usr/lib/version');

it('stages locked: a reboot that nobody planned boots what was booted', async () => {
  const before = await driver.status();
  await driver.stage(v2, CONTEXT);
  expect(await driver.status()).toMatchObject({
    booted: before.booted,
    staged: { image: v2, locked: true, kernelArguments: ['ro', 'quiet'] },
  });
  await tree.reboot();
  expect(await bootedVersion()).toBe('v1');
  expect((await driver.status()).staged).toBeUndefined();
});

it('takes over after it is released, with its kernel arguments, and rolls back', async () => {
  const { booted: old } = await driver.status();
  await driver.stage(v2, CONTEXT);
  await driver.setKernelArguments({ from: ['quiet'], to: ['a=1'] }, CONTEXT);
  await driver.finalize();
  expect((await driver.status()).staged).toMatchObject({ image: v2, locked: false });
  await tree.reboot();
  expect(await bootedVersion()).toBe('v2');
  const now = await driver.status();
  expect(now).toMatchObject({
    booted: { image: v2, kernelArguments: ['ro', 'a=1'] },
    rollback: { id: old.id, kernelArguments: ['ro', 'quiet'] },
  });
  await driver.rollback(old.id);
  await tree.reboot();
  expect(await bootedVersion()).toBe('v1');
  await driver.cleanUp(now.booted.id);
  const { deployments } = JSON.parse(await tree.run('slipway-ostree', ['status'])) as {
    deployments: readonly { readonly id: string }[];
  };
  expect(deployments.map(({ id }) => id)).toEqual([old.id]);
});

it('does the same work twice only once', async () => {
  await driver.stage(v2, CONTEXT);
  const { staged: first } = await driver.status();
  const { blobs } = await tree.registry.during(() => driver.stage(v2, CONTEXT));
  expect(blobs).toEqual([]);
  const change = { from: ['quiet'], to: ['a=1'] };
  await driver.setKernelArguments(change, CONTEXT);
  await driver.setKernelArguments(change, CONTEXT);
  const { staged } = await driver.status();
  expect(staged).toMatchObject({ image: v2, locked: true, kernelArguments: ['ro', 'a=1'] });
  expect(staged?.digest).toBe(first?.digest);
});

it('changes kernel arguments alone on the booted image', async () => {
  const { booted } = await driver.status();
  await driver.setKernelArguments({ from: [], to: ['a=1'] }, CONTEXT);
  const { staged } = await driver.status();
  expect(staged).toMatchObject({ image: booted.image, kernelArguments: ['ro', 'quiet', 'a=1'] });
  await driver.finalize();
  await tree.reboot();
  expect((await driver.status()).booted.kernelArguments).toEqual(['ro', 'quiet', 'a=1']);
});

it('drops what is staged with its lock, and pulls nothing to stage it again', async () => {
  await driver.stage(v2, CONTEXT);
  await driver.discard();
  await driver.discard();
  expect((await driver.status()).staged).toBeUndefined();
  expect(existsSync(lockFile)).toBe(false);
  const layers = await tree.registry.during(() => driver.stage(v2, CONTEXT));
  expect(layers.blobs.length).toBeLessThanOrEqual(1); // at most its config
});

it('stages another image in place of the first, and the booted one by dropping it', async () => {
  const { booted } = await driver.status();
  await driver.stage(v2, CONTEXT);
  await driver.stage(v3, CONTEXT);
  expect((await driver.status()).staged).toMatchObject({ image: v3, locked: true });
  await driver.stage(booted.image ?? '', CONTEXT);
  expect((await driver.status()).staged).toBeUndefined();
  await tree.reboot();
  expect(await bootedVersion()).toBe('v1');
});

it('going back drops what is staged, released or not', async () => {
  const { booted } = await driver.status();
  await driver.stage(v2, CONTEXT);
  await driver.finalize();
  await driver.rollback(booted.id);
  await tree.reboot();
  expect(await bootedVersion()).toBe('v1');
});

it('leaves no lock behind when staging fails', async () => {
  const image = `${tree.registry.address}/os@sha256:${'0'.repeat(64)}`;
  await expect(driver.stage(image, CONTEXT)).rejects.toMatchObject({ name: 'PullFailed' });
  expect(existsSync(lockFile)).toBe(false);
});

it('does not drop the booted deployment', async () => {
  const { booted } = await driver.status();
  await expect(driver.cleanUp(booted.id)).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: `deployment ${booted.id} is booted, so it stays`,
  });
});

it('keeps local changes to /etc in the next deployment', async () => {
  await writeFile(join(dirname(tree.root), 'booted/etc/mine'), 'local');
  await driver.stage(v2, CONTEXT);
  await driver.finalize();
  await tree.reboot();
  expect(await tree.readBooted('etc/mine')).toBe('local');
});
