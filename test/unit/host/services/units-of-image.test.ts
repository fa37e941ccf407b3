/** Units that come or go with the OS image of the update that enables or drops them. */

import { lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { IgnitionUnit } from '../../../../core/machine-config/types';
import { aConfig, orderFor, type TestConfig } from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';

const VENDOR = '/usr/lib/systemd/system';
const PRESETS = '/usr/lib/systemd/system-preset/10-image.preset';
const LINK = 'systemd/system/multi-user.target.wants/guard.service';
const GUARD = '[Service]\nExecStart=/usr/bin/guard\n[Install]\nWantedBy=multi-user.target\n';

const configOf = (name: string, image: string, units: readonly IgnitionUnit[]): TestConfig =>
  aConfig(`rendered-worker-${name}`, {
    osImageURL: `os@sha256:${image.repeat(64)}`,
    config: { systemd: { units } },
  });
const enabled = [{ name: 'guard.service', enabled: true }];

const PLAIN = configOf('plain', '1', []);
const NAMED_EARLY = configOf('named-early', '1', enabled);
const ENABLED = configOf('enabled', '2', enabled);
const DROPIN = configOf('dropin', '2', [
  { name: 'guard.service', dropins: [{ name: '10.conf', contents: '[Service]\nNice=5\n' }] },
]);
const MASKED = configOf('masked', '2', [{ name: 'guard.service', mask: true }]);
const WITHOUT = configOf('without', '3', []);

let host: OstreeHost;
async function begin(first: TestConfig): Promise<void> {
  host = await anOstreeHost(first, [ENABLED, DROPIN, MASKED, WITHOUT]);
  // Every machine with systemd has it.
  mkdirSync(join(host.root, 'etc/systemd/system'), { recursive: true });
}
afterEach(() => host.remove());

/** Writes the unit into the tree of a deployment, or into the running one. */
function write(path: string, text: string, tree = ''): void {
  const file = join(host.root, tree, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const step = (config: TestConfig, name: string) =>
  orderFor(config, name, { orderId: `${config.reference.name}/${name}` });

/** Stages the image, whose tree has these files. */
async function apply(config: TestConfig, image: Readonly<Record<string, string>>): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(step(config, 'prepareUpdate'));
  const { staged } = await host.status();
  const tree = `/sysroot/ostree/deploy/os/deploy/${staged?.id ?? ''}`;
  mkdirSync(join(host.root, tree, 'usr'), { recursive: true });
  for (const [path, text] of Object.entries(image)) write(path, text, tree);
  await activities.applyUpdate(step(config, 'applyUpdate'));
}

async function reboot(config: TestConfig, image: Readonly<Record<string, string>>): Promise<void> {
  await (await host.activities()).armReboot(step(config, 'armReboot'));
  await host.reboot();
  for (const path of [`${VENDOR}/guard.service`, PRESETS])
    rmSync(join(host.root, path), { force: true });
  for (const [path, text] of Object.entries(image)) write(path, text);
}

async function update(config: TestConfig, image: Readonly<Record<string, string>>): Promise<void> {
  await apply(config, image);
  await reboot(config, image);
  const activities = await host.activities();
  await activities.verifyUpdate(step(config, 'verifyUpdate'));
  await activities.commitUpdate(step(config, 'commitUpdate'));
}

function linkIn(etc: string): string | undefined {
  const link = join(etc, LINK);
  return lstatSync(link, { throwIfNoEntry: false }) === undefined ? undefined : readlinkSync(link);
}
const link = () => linkIn(join(host.root, 'etc'));

describe('a unit that only the new image brings', () => {
  const BRINGS = { [`${VENDOR}/guard.service`]: GUARD };

  it('is enabled for the boot that brings it', async () => {
    await begin(PLAIN);

    await update(ENABLED, BRINGS);

    expect(link()).toBe(`${VENDOR}/guard.service`);
  });

  it('is enabled also when the config before named it in vain', async () => {
    await begin(NAMED_EARLY);
    expect(link()).toBeUndefined();

    await update(ENABLED, BRINGS);

    expect(link()).toBe(`${VENDOR}/guard.service`);
  });

  it('follows the presets of its image when the config has a drop-in for it', async () => {
    await begin(PLAIN);

    await update(DROPIN, { ...BRINGS, [PRESETS]: 'enable guard.service\n' });

    expect(link()).toBe(`${VENDOR}/guard.service`);
  });

  it('is masked and not enabled', async () => {
    await begin(PLAIN);

    await update(MASKED, BRINGS);

    expect(link()).toBeUndefined();
    expect(readlinkSync(join(host.root, 'etc/systemd/system/guard.service'))).toBe('/dev/null');
  });

  it('leaves nothing behind during rollback', async () => {
    await begin(PLAIN);
    const { id } = (await host.status()).booted;
    await apply(ENABLED, BRINGS);
    expect(link()).toBe(`${VENDOR}/guard.service`);
    await reboot(ENABLED, BRINGS);
    expect(linkIn(host.etcOf(id))).toBe(`${VENDOR}/guard.service`);

    await (await host.activities()).goBack(step(ENABLED, 'goBack'));
    await host.reboot();
    await host.settle();

    expect((await host.status()).booted.id).toBe(id);
    expect(link()).toBeUndefined();
    const wants = dirname(join(host.root, 'etc', LINK));
    expect(lstatSync(wants, { throwIfNoEntry: false })).toBeUndefined();
  });
});

describe('a unit that the new image has no longer', () => {
  it('is not left to the presets of the old one when the config drops it', async () => {
    await begin(NAMED_EARLY);
    write(`${VENDOR}/guard.service`, GUARD);
    write(PRESETS, 'enable guard.service\n');
    mkdirSync(dirname(join(host.root, 'etc', LINK)), { recursive: true });
    symlinkSync(`${VENDOR}/guard.service`, join(host.root, 'etc', LINK));

    await update(WITHOUT, {});

    expect(link()).toBeUndefined();
  });
});

describe('an image that lacks what the running one has of the host worker', () => {
  const UNIT = `${VENDOR}/slipway-host.service`;
  const PROGRAM = '/usr/lib/slipway/slipway-host.cjs';

  /** Prepares again, now with these files in the image. */
  async function prepare(config: TestConfig, image: Readonly<Record<string, string>>) {
    const activities = await host.activities();
    await activities.prepareUpdate(step(config, 'prepareUpdate'));
    const tree = `/sysroot/ostree/deploy/os/deploy/${(await host.status()).staged?.id ?? ''}`;
    mkdirSync(join(host.root, tree, 'usr'), { recursive: true });
    for (const [path, text] of Object.entries(image)) write(path, text, tree);
    const again = orderFor(config, 'prepareUpdate', { orderId: 'again/prepareUpdate' });
    return activities.prepareUpdate(again);
  }

  beforeEach(async () => {
    await begin(PLAIN);
    write(UNIT, '[Service]\n');
    write(PROGRAM, '');
  });

  it('is refused before the node is disturbed, and is not left staged', async () => {
    await expect(prepare(WITHOUT, { [UNIT]: '[Service]\n' })).rejects.toMatchObject({
      name: 'ImageRefused',
      message: expect.stringContaining(`has no ${PROGRAM}, which the running image`) as string,
    });
    expect((await host.status()).staged).toBeUndefined();
  });

  it('is taken when it has the same parts of it', async () => {
    const image = { [UNIT]: '[Service]\n', [PROGRAM]: '' };

    expect((await prepare(WITHOUT, image)).plan.osImage?.to).toBe(WITHOUT.spec.osImageURL);
    expect((await host.status()).staged?.locked).toBe(true);
  });
});
