/** Small configs that unpack to much, or have very many paths, are applied in little memory, or refused. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createHostActivities } from '../../../activities/host/host-activities';
import { type FileSystem, NODE_FILE_SYSTEM } from '../../../adapters/host';
import {
  aConfig,
  aFile,
  aHost,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../../unit/host/a-host';

jest.setTimeout(60_000);

const MIB = 1024 * 1024;

/** A file of so many zeros, compressed to a thousandth. */
function zeros(path: string, packed: Buffer) {
  const source = `data:;base64,${packed.toString('base64')}`;
  return { path, mode: 0o644, overwrite: true, contents: { source, compression: 'gzip' } };
}
const named = (name: string, files: readonly object[]): TestConfig =>
  aConfig(name, { config: { storage: { files: files as ReturnType<typeof aFile>[] } } });

let host: TestHost;
afterEach(() => host.remove());

/** A new host, with a measurement of its memory outside of the heap. */
async function hostFor(config: TestConfig) {
  host = await aHost([config]);
  const most = { bytes: 0 };
  const look = (): void => {
    most.bytes = Math.max(most.bytes, process.memoryUsage().arrayBuffers);
  };
  const fs: FileSystem = {
    ...NODE_FILE_SYSTEM,
    async rename(from, to) {
      look();
      await NODE_FILE_SYSTEM.rename(from, to);
    },
    async open(path, flags, mode) {
      look();
      return NODE_FILE_SYSTEM.open(path, flags, mode);
    },
  };
  return { activities: createHostActivities(await host.ports(fs)), most };
}

async function expectRefused(config: TestConfig, name: string, message: RegExp): Promise<void> {
  const { activities } = await hostFor(config);
  const preparing = activities.prepareUpdate(orderFor(config, 'prepareUpdate'));
  await expect(preparing).rejects.toMatchObject({
    name,
    message: expect.stringMatching(message) as string,
  });
  expect(await (await host.ports()).journal.open()).toBeUndefined();
  expect(readdirSync(host.root)).not.toContain('srv');
}

it('writes contents of 100 MiB, one file after the other', async () => {
  const packed = gzipSync(Buffer.alloc(100 * MIB));
  const files = ['/srv/one', '/srv/two'].map((path) => zeros(path, packed));
  const config = named('rendered-worker-big', files);
  const { activities, most } = await hostFor(config);
  const before = process.memoryUsage().arrayBuffers;

  await activities.prepareUpdate(orderFor(config, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(config, 'applyUpdate'));

  for (const { path } of files) expect(statSync(join(host.root, path)).size).toBe(100 * MIB);
  expect(most.bytes).toBeGreaterThan(before);
  // At most two unpacked copies while a file is written: garbage is collected late.
  expect(most.bytes - before).toBeLessThan(420 * MIB);
  await activities.goBack(orderFor(config, 'goBack'));
  expect(readdirSync(host.root)).not.toContain('srv');
});

it('refuses a file that unpacks to more than a host holds', async () => {
  const config = named('rendered-worker-bomb', [
    zeros('/srv/bomb', gzipSync(Buffer.alloc(300 * MIB))),
  ]);

  await expectRefused(
    config,
    'ConfigTooLarge',
    /^file \/srv\/bomb: contents unpack to more than \d+ bytes$/,
  );
});

it('refuses files that together unpack to more', async () => {
  const packed = gzipSync(Buffer.alloc(90 * MIB));
  const files = ['/srv/a', '/srv/b', '/srv/c'].map((path) => zeros(path, packed));

  await expectRefused(
    named('rendered-worker-many', files),
    'ConfigTooLarge',
    /^rendered-worker-many: its contents have \d+ bytes up to \/srv\/c, a host takes 268435456;/,
  );
});

it('refuses 100,000 files, saying how many it takes', async () => {
  const files = Array.from({ length: 100_000 }, (_, index) => aFile(`/srv/${index}`, ''));

  await expectRefused(
    named('rendered-worker-100000', files),
    'ConfigTooLarge',
    /^rendered-worker-100000 has 100000 files, units and drop-ins, a host takes 20000;/,
  );
});

it('refuses a change of which no history takes the list', async () => {
  const files = Array.from({ length: 15_000 }, (_, index) => aFile(`/srv/${index}`, ''));

  await expectRefused(
    named('rendered-worker-list', files),
    'ConfigTooLarge',
    /^rendered-worker-list changes 15000 paths at once: their list has \d+ bytes, 1572864 fit/,
  );
});
