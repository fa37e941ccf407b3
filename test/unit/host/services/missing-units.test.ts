/** A unit that a config enables and the machine lacks is found before the node is disturbed. */

import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { createNoneDriver } from '../../../../adapters/host';
import type { IgnitionUnit } from '../../../../core/machine-config/types';
import { aConfig, aFile, orderFor, type TestConfig } from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';

const IMAGE = `os@sha256:${'1'.repeat(64)}`;
const OTHER_IMAGE = `os@sha256:${'2'.repeat(64)}`;
const VENDOR = '/usr/lib/systemd/system';
const TEXT = '[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n';
const ON = { name: 'guard.service', enabled: true };
const NO_REBOOT = { units: [{ name: 'guard.service', actions: [{ type: 'None' }] }] } as const;
const MISSING = { name: 'ApplyFailed', details: { unit: 'guard.service' } };

type More = Parameters<typeof aConfig>[1];
const withUnits = (name: string, units: readonly IgnitionUnit[], more: More = {}): TestConfig =>
  aConfig(`rendered-worker-${name}`, {
    osImageURL: IMAGE,
    ...more,
    config: { ...more?.config, systemd: { units } },
  });

const PLAIN = withUnits('plain', []);
const HAS = withUnits('has', [{ ...ON, contents: TEXT }]);
const NAMED = withUnits('named', [ON]);

let host: OstreeHost;
async function begin(first: TestConfig, ...configs: readonly TestConfig[]): Promise<void> {
  host = await anOstreeHost(first, configs);
  // Every machine with systemd has it.
  mkdirSync(at('/etc/systemd/system'), { recursive: true });
}
afterEach(() => host.remove());

const at = (path: string): string => join(host.root, path);
function write(path: string, text = TEXT): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
function link(path: string, target: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  symlinkSync(target, at(path));
}

const order = (config: TestConfig, step: string) =>
  orderFor(config, step, { orderId: `next/${step}`, disruptionPolicies: NO_REBOOT });
const prepare = async (config: TestConfig) =>
  (await host.activities()).prepareUpdate(order(config, 'prepareUpdate'));

describe('an update that takes no reboot', () => {
  it('names the unit that the machine does not have, and changes nothing', async () => {
    await begin(PLAIN, NAMED);

    await expect(prepare(NAMED)).rejects.toMatchObject({
      ...MISSING,
      message:
        'enable guard.service: worker-1 has no unit of that name, and its config brings none; correct the name, or bring the unit before it is enabled',
    });

    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it('names it on a machine whose operating system is none of our business', async () => {
    const config = withUnits('unmanaged', [ON], { osImageURL: '' });
    await begin(PLAIN, config);
    const ports = { ...(await host.ports()), os: createNoneDriver() };
    rmSync(at('/etc/machine-config-daemon/currentconfig'));

    const { prepareUpdate } = createHostActivities(ports);
    await expect(prepareUpdate(order(config, 'prepareUpdate'))).rejects.toMatchObject(MISSING);
  });

  it.each<[string, () => void]>([
    ['the distribution brings it', () => write(`${VENDOR}/guard.service`)],
    ['a person wrote it', () => write('/etc/systemd/system/guard.service')],
    [
      'it is there for as long as the machine runs',
      () => write('/run/systemd/system/guard.service'),
    ],
    ['a generator makes it', () => write('/run/systemd/generator/guard.service', '')],
    ['it is of a portable service', () => write('/etc/systemd/system.attached/guard.service')],
    [
      'it is an alias of the distribution',
      () => {
        write(`${VENDOR}/other.service`);
        link(`${VENDOR}/guard.service`, 'other.service');
      },
    ],
    [
      'somebody linked it',
      () => {
        write('/opt/guard.service');
        link('/etc/systemd/system/guard.service', '/opt/guard.service');
      },
    ],
  ])('takes it when %s', async (_why, bring) => {
    await begin(PLAIN, NAMED);
    bring();

    expect((await prepare(NAMED)).plan.reboot).toBe(false);
  });

  it('does not take a link to what is not there, nor drop-ins alone', async () => {
    const dropins = [{ name: '10.conf', contents: '[Install]\nWantedBy=a.target\n' }];
    const config = withUnits('dropins', [{ ...ON, dropins }]);
    await begin(PLAIN, config);
    link('/etc/systemd/system/guard.service', '/opt/guard.service');
    write(`${VENDOR}/guard.service.d/10.conf`);

    await expect(prepare(config)).rejects.toMatchObject(MISSING);
  });

  it('takes an instance of a template that is there, or in the config', async () => {
    const instance = { name: 'guard@one.service', enabled: true };
    const alone = withUnits('instance', [instance]);
    const both = withUnits('both', [{ name: 'guard@.service', contents: TEXT }, instance]);
    await begin(PLAIN, alone, both);
    await expect(prepare(alone)).rejects.toMatchObject({ details: { unit: 'guard@one.service' } });

    await prepare(both);

    write(`${VENDOR}/guard@.service`);
    await prepare(alone);
  });

  it('takes one that a file of the same config brings', async () => {
    const files = [aFile('/etc/systemd/system/guard.service', TEXT)];
    const config = withUnits('file', [ON], { config: { storage: { files } } });
    await begin(PLAIN, config);

    await prepare(config);
  });

  it('does not take one whose contents the update takes away, unless the machine had it before', async () => {
    await begin(HAS, NAMED);
    await expect(prepare(NAMED)).rejects.toMatchObject(MISSING);
    host.remove();

    await begin(PLAIN, HAS, NAMED);
    write('/etc/systemd/system/guard.service', '# of the machine\n');
    const activities = await host.activities();
    const to = (step: string) => orderFor(HAS, step, { orderId: `has/${step}` });
    await activities.prepareUpdate(to('prepareUpdate'));
    await activities.applyUpdate(to('applyUpdate'));
    await activities.armReboot(to('armReboot'));
    await host.reboot();
    const booted = await host.activities();
    await booted.verifyUpdate(to('verifyUpdate'));
    await booted.commitUpdate(to('commitUpdate'));
    await prepare(NAMED);
  });

  it('does not ask for one that the config before had, or that is to be disabled or masked', async () => {
    const file = aFile('/etc/motd', 'new');
    const stays = withUnits('stays', [ON], { config: { storage: { files: [file] } } });
    const off = withUnits('off', [{ ...ON, enabled: false }]);
    const masked = withUnits('masked', [{ ...ON, mask: true }]);
    await begin(PLAIN, NAMED, stays, off, masked);
    for (const config of [off, masked]) await prepare(config);
    // A config that names the unit, although the machine does not have it.
    const record = { metadata: { name: NAMED.reference.name }, spec: NAMED.spec };
    writeFileSync(at('/etc/machine-config-daemon/currentconfig'), JSON.stringify(record));

    await prepare(stays);
  });
});

describe('an update with another image', () => {
  const NEW_IMAGE = withUnits('image', [ON], { osImageURL: OTHER_IMAGE });

  /** The staged deployment has a tree as in ostree. */
  async function prepareWithTree(files: Readonly<Record<string, string>>) {
    const ports = await host.ports();
    const stage: typeof ports.os.stage = async (...all) => {
      await ports.os.stage(...all);
      const { staged } = await ports.os.status();
      const tree = `/sysroot/ostree/deploy/os/deploy/${staged?.id ?? ''}`;
      mkdirSync(at(`${tree}/usr`), { recursive: true });
      for (const [path, text] of Object.entries(files)) write(`${tree}${path}`, text);
    };
    const { prepareUpdate } = createHostActivities({ ...ports, os: { ...ports.os, stage } });
    return prepareUpdate(order(NEW_IMAGE, 'prepareUpdate'));
  }

  it('takes the unit that the image brings', async () => {
    await begin(PLAIN, NEW_IMAGE);

    expect((await prepareWithTree({ [`${VENDOR}/guard.service`]: TEXT })).plan.reboot).toBe(true);
  });

  it('names the unit that the image does not bring, or no longer', async () => {
    await begin(PLAIN, NEW_IMAGE);
    write(`${VENDOR}/guard.service`);

    await expect(prepareWithTree({})).rejects.toMatchObject({
      ...MISSING,
      message: expect.stringContaining('nor do its config or its new image bring one') as string,
    });
    expect((await host.status()).staged?.locked).toBe(true);
  });

  it('leaves it to the reboot where no tree of the image can be seen', async () => {
    await begin(PLAIN, NEW_IMAGE);

    expect((await prepare(NEW_IMAGE)).plan.reboot).toBe(true);
  });
});

describe('an update that installs an extension', () => {
  const EXTENSION = withUnits('extension', [ON], { extensions: ['usbguard'] });

  /** Prepared and applied; the packages bring these files. */
  async function apply(files: Readonly<Record<string, string>>): Promise<void> {
    const ports = await host.ports();
    const setExtensions: typeof ports.os.setExtensions = async (...all) => {
      await ports.os.setExtensions(...all);
      const { staged } = await ports.os.status();
      const tree = `/sysroot/ostree/deploy/os/deploy/${staged?.id ?? ''}`;
      mkdirSync(at(`${tree}/usr`), { recursive: true });
      for (const [path, text] of Object.entries(files)) write(`${tree}${path}`, text);
    };
    const os = { ...ports.os, setExtensions };
    const activities = createHostActivities({ ...ports, os });
    await activities.prepareUpdate(order(EXTENSION, 'prepareUpdate'));
    await activities.applyUpdate(order(EXTENSION, 'applyUpdate'));
  }

  it('takes the unit that its packages bring', async () => {
    await begin(PLAIN, EXTENSION);

    await apply({ [`${VENDOR}/guard.service`]: TEXT });
  });

  it('names the unit that they do not bring before the reboot', async () => {
    await begin(PLAIN, EXTENSION);

    await expect(apply({})).rejects.toMatchObject(MISSING);
  });
});
