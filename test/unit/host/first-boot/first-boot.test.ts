/** From the state after Ignition to a machine on its config, with any fault in between. */

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { completeFirstBoot } from '../../../../host/first-boot/first-boot';
import { FIRST_BOOT_PLACES } from '../../../../host/first-boot/ignition-files';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { readCurrentConfig } from '../../../../host/records/configs';
import { decodeDataUrl } from '../../../../core/encoding';
import {
  FIRST_BOOT_FILE,
  firstBootConfig,
  type FirstBootFacts,
  readServedIgnition,
} from '../../../../core/first-boot';
import type { IgnitionConfig, MachineConfig } from '../../../../core/machine-config/types';
import { aConfig, aFile, orderFor, type TestConfig } from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';
import { dyingAt } from '../update/describe-crashes';

const IGNITION_PRESETS = '/etc/systemd/system-preset/20-ignition.preset';

const INSTALLED_IMAGE = `os@sha256:${'1'.repeat(64)}`;
const SERVED_IMAGE = `os@sha256:${'2'.repeat(64)}`;

const INSTALLED = aConfig('what-the-installer-wrote', { osImageURL: INSTALLED_IMAGE });
const files = [aFile('/etc/motd', 'served'), aFile('/etc/secret', 'token', 0o600)];
const SERVED = aConfig('rendered-worker-1', {
  osImageURL: SERVED_IMAGE,
  kernelArguments: ['nosmt audit=0'],
  extensions: ['usbguard'],
  config: { storage: { files } },
});
const ignitionArguments = { shouldExist: ['mitigations=off', 'audit=0'] };
const OLD_IGNITION = aConfig('rendered-worker-4', {
  osImageURL: INSTALLED_IMAGE,
  kernelArguments: ['nosmt'],
  config: { storage: { files }, kernelArguments: ignitionArguments },
});
const OLD_NEXT = aConfig('rendered-worker-5', {
  osImageURL: INSTALLED_IMAGE,
  config: { storage: { files }, kernelArguments: ignitionArguments },
});
/** Arguments that the boot loader and the installer spell differently. */
const QUOTED = aConfig('rendered-worker-7', {
  osImageURL: INSTALLED_IMAGE,
  kernelArguments: ['cgroup_no_v1="all"', 'dyndbg="file a +p" psi=0', ''],
  config: { storage: { files } },
});
const SPELLED_OTHERWISE = ['cgroup_no_v1=all', '"dyndbg=file a +p"', 'psi=0'];
/** The same files on the unchanged machine. */
const AGREED = aConfig('rendered-worker-2', {
  osImageURL: INSTALLED_IMAGE,
  config: { storage: { files } },
});
const NEXT = aConfig('rendered-worker-3', { osImageURL: INSTALLED_IMAGE });

let host: OstreeHost;
const at = (path: string): string => join(host.root, path);
const write = (path: string, text: string, mode = 0o644): void => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text, { mode });
};

/**
 * The state that Ignition leaves of a config with the server's additions; `moved` = arguments for an old Ignition.
 */
function ignite({ reference: { name }, spec }: TestConfig, moved: readonly string[] = []): void {
  const annotations = { 'slipway.dev/moved-kernel-arguments': String(moved.length) };
  const metadata = { name, ...(moved.length === 0 ? {} : { annotations }) };
  const served = { ...spec, kernelArguments: [...spec.kernelArguments, ...moved] };
  const object = { apiVersion: 'v1', kind: 'MachineConfig', metadata, spec: served };
  const empty = { ...object, spec: { ...served, config: { ignition: { version: '3.5.0' } } } };
  for (const { path, contents, mode } of spec.config.storage?.files ?? []) {
    const text = decodeURIComponent(String(contents?.source).slice('data:,'.length));
    write(path, text, mode);
  }
  write(FIRST_BOOT_PLACES.ANNOTATIONS, '{}');
  write(FIRST_BOOT_PLACES.SERVED, JSON.stringify(object, null, 4));
  write(FIRST_BOOT_PLACES.ENCAPSULATED, JSON.stringify(empty));
}

/** The state that Ignition leaves of the served bytes of a config. */
function igniteServed({ reference: { name }, spec }: TestConfig, facts: FirstBootFacts): void {
  const machineConfig = { metadata: { name }, spec } as MachineConfig;
  const ignition = readServedIgnition(machineConfig, { gunzip: gunzipSync });
  const served = firstBootConfig({ machineConfig, ignition, facts, version: '3.5' });
  const { storage } = JSON.parse(served) as IgnitionConfig;
  for (const { path, contents, mode } of storage?.files ?? []) {
    const decoded = decodeDataUrl(contents?.source ?? '');
    if (decoded.error !== undefined) throw new Error(`${path}: ${decoded.error}`);
    write(path, Buffer.from(decoded.bytes).toString(), mode);
  }
}

/** Runs the two programs before the kubelet, with the reboots that they ask for; returns their number. */
async function bootUntilComplete(): Promise<number> {
  for (let reboots = 0; ; reboots += 1) {
    await host.settle();
    const done = await completeFirstBoot(await host.ports());
    if (done.kind !== 'reboot') return reboots;
    if (reboots > 5) throw new Error('it does not end');
    await host.reboot();
  }
}

const current = async () => (await readCurrentConfig((await host.ports()).files))?.reference;

async function expectComplete(config: TestConfig): Promise<void> {
  expect(await current()).toEqual(config.reference);
  expect(await (await host.ports()).journal.open()).toBeUndefined();
  expect(existsSync(at(FIRST_BOOT_PLACES.ENCAPSULATED))).toBe(false);
  const prepared = await (await host.activities()).prepareUpdate(orderFor(config, 'prepareUpdate'));
  expect(prepared).toMatchObject({ alreadyOnTarget: true, plan: { reboot: false } });
}

beforeEach(async () => {
  host = await anOstreeHost(INSTALLED, [SERVED, AGREED, NEXT, OLD_IGNITION, OLD_NEXT, QUOTED]);
  // A machine that was never managed.
  rmSync(at('/etc/machine-config-daemon/currentconfig'));
  rmSync(at('/var/lib/slipway/committed.json'));
});
afterEach(() => host.remove());

describe('a first boot', () => {
  it('brings image, kernel arguments and extensions with one reboot', async () => {
    ignite(SERVED);

    expect(await completeFirstBoot(await host.ports())).toEqual({
      kind: 'reboot',
      config: SERVED.reference.name,
    });
    expect(host.reboots).toEqual([`update to ${SERVED.reference.name}`]);
    await host.reboot();
    expect(await bootUntilComplete()).toBe(0);

    expect((await host.status()).booted).toMatchObject({
      image: SERVED_IMAGE,
      kernelArguments: ['nosmt', 'audit=0'],
      extensions: ['usbguard'],
    });
    await expectComplete(SERVED);
    expect(host.fetched).not.toContain(SERVED.reference.name);
    expect(readFileSync(at('/etc/motd'), 'utf8')).toBe('served');
  });

  it('is on the config of the cluster when the server moved kernel arguments for an old Ignition', async () => {
    ignite(OLD_IGNITION, ['mitigations=off', 'audit=0']);

    expect(await bootUntilComplete()).toBe(1);

    expect((await host.status()).booted.kernelArguments).toEqual([
      'nosmt',
      'mitigations=off',
      'audit=0',
    ]);
    await expectComplete(OLD_IGNITION);
    // Later updates change their own arguments, and none of Ignition's.
    const activities = await host.activities();
    const { plan } = await activities.prepareUpdate(
      orderFor(OLD_NEXT, 'prepareUpdate', { orderId: 'next' }),
    );
    expect(plan.kernelArguments).toEqual({ add: [], remove: ['nosmt'] });
  });

  it('takes no reboot when the machine is as its config says', async () => {
    ignite(AGREED);

    expect(await bootUntilComplete()).toBe(0);

    await expectComplete(AGREED);
    expect(host.reboots).toEqual([]);
  });

  it('finds the arguments of its config in another spelling, and a later update takes them away', async () => {
    ignite(QUOTED);
    host.changeBooted({ kernelArguments: ['ro', ...SPELLED_OTHERWISE] });

    expect(await bootUntilComplete()).toBe(0);

    await expectComplete(QUOTED);
    const activities = await host.activities();
    const order = (step: string) => orderFor(NEXT, step, { orderId: `next/${step}` });
    await activities.prepareUpdate(order('prepareUpdate'));
    await activities.applyUpdate(order('applyUpdate'));
    expect((await host.status()).staged?.kernelArguments).toEqual(['ro']);
  });

  it('adds the arguments that are missing, in the spelling of its config', async () => {
    ignite(QUOTED);
    host.changeBooted({ kernelArguments: ['ro', 'cgroup_no_v1=all'] });

    expect(await bootUntilComplete()).toBe(1);

    const words = ['cgroup_no_v1="all"', 'dyndbg="file a +p"', 'psi=0'];
    expect((await host.status()).booted.kernelArguments).toEqual(['ro', ...words]);
    await expectComplete(QUOTED);
  });

  it('is on a config that brings what the server would add', async () => {
    const { KUBECONFIG, KUBELET_AUTHORITY } = FIRST_BOOT_FILE;
    const registry = '/etc/docker/certs.d/registry.example.com/ca.crt';
    const own = [KUBECONFIG, registry, KUBELET_AUTHORITY].map((path) => aFile(path, 'own', 0o600));
    const config = aConfig('rendered-worker-6', {
      osImageURL: INSTALLED_IMAGE,
      config: { storage: { files: own } },
    });
    host.remove();
    host = await anOstreeHost(INSTALLED, [config]);
    rmSync(at('/etc/machine-config-daemon/currentconfig'));
    rmSync(at('/var/lib/slipway/committed.json'));
    igniteServed(config, {
      kubeconfig: 'of the server',
      kubeletAuthority: Buffer.from('of the cluster').toString('base64'),
      registryAuthorities: { 'registry.example.com': 'of the server' },
    });

    expect(await bootUntilComplete()).toBe(0);

    await expectComplete(config);
    expect(readFileSync(at(KUBECONFIG), 'utf8')).toBe('own');
    expect(readFileSync(at(KUBELET_AUTHORITY), 'utf8')).toBe('of the cluster');
  });

  it('is over once, and keeps to itself what has secrets in it', async () => {
    ignite(AGREED);
    await bootUntilComplete();

    expect(await completeFirstBoot(await host.ports())).toEqual({ kind: 'none' });
    expect(existsSync(at(`${FIRST_BOOT_PLACES.ENCAPSULATED}.bak`))).toBe(true);
    expect(existsSync(at('/etc/machine-config-daemon/node-annotation.json.bak'))).toBe(true);
    expect(existsSync(at(FIRST_BOOT_PLACES.ANNOTATIONS))).toBe(false);
    expect(statSync(at(FIRST_BOOT_PLACES.SERVED)).mode & 0o777).toBe(0o600);
  });

  it('has nothing to do on a machine without', async () => {
    expect(await completeFirstBoot(await host.ports())).toEqual({ kind: 'none' });
    expect(await current()).toBeUndefined();
  });

  it('lets later configs remove what Ignition wrote, and gives back what the image has', async () => {
    write('/usr/etc/motd', 'of the image');
    ignite(AGREED);
    await bootUntilComplete();
    // As in later updates, only for root.
    expect(statSync(at('/etc/machine-config-daemon/orig')).mode & 0o777).toBe(0o700);

    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEXT, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEXT, 'applyUpdate'));

    expect(readFileSync(at('/etc/motd'), 'utf8')).toBe('of the image');
    expect(existsSync(at('/etc/secret'))).toBe(false);
  });

  it('reboots also when its clock was set meanwhile: no order of it expires', async () => {
    ignite(SERVED);
    await completeFirstBoot(await host.ports());
    host.clock.now = new Date('2030-01-01T00:30:00Z');

    let counted = 0;
    const first = completeFirstBoot(await host.ports(), async () => void (counted += 1));
    // Nothing was undone, so nothing is repeated and counted.
    expect({ ...(await first), counted }).toMatchObject({ kind: 'reboot', counted: 0 });

    await host.reboot();
    expect(await bootUntilComplete()).toBe(0);
    await expectComplete(SERVED);
  });

  it('goes on after power cuts', async () => {
    ignite(SERVED);
    await completeFirstBoot(await host.ports());

    await host.powerCut();
    const reboots = await bootUntilComplete();

    expect(reboots).toBeLessThanOrEqual(2);
    expect((await host.status()).booted.image).toBe(SERVED_IMAGE);
    await expectComplete(SERVED);
  });

  it('boots once for what started on files that were put back, also when nobody did so at once', async () => {
    const begin = async (): Promise<void> => {
      host.remove();
      host = await anOstreeHost(INSTALLED, [SERVED]);
      rmSync(at('/etc/machine-config-daemon/currentconfig'));
      rmSync(at('/var/lib/slipway/committed.json'));
      ignite(SERVED);
      // An update removes it, so that there is something to restore.
      write(IGNITION_PRESETS, 'enable a.service');
      await completeFirstBoot(await host.ports());
      await host.powerCut();
      expect(existsSync(at(IGNITION_PRESETS))).toBe(false);
    };
    await begin();
    const whole = dyingAt(Number.POSITIVE_INFINITY);
    expect((await settleAtStart(await host.ports(whole.fs))).reboot).toMatch(/start again/);
    for (let step = 1; step <= whole.steps() + 1; step += 3) {
      await begin();
      await settleAtStart(await host.ports(dyingAt(step).fs)).catch(() => undefined);
      let counted = 0;
      const first = async () =>
        completeFirstBoot(await host.ports(), async () => void (counted += 1));

      expect({ step, ...(await first()), counted }).toEqual({
        step,
        kind: 'reboot',
        config: SERVED.reference.name,
        counted: 0,
      });
      await host.reboot();
      expect(await first()).toMatchObject({ kind: 'reboot' });
      expect(counted).toBe(1);
      await host.reboot();
      expect(await first()).toMatchObject({ kind: 'complete' });
      await expectComplete(SERVED);
    }
  }, 120_000);

  it('does not go on from a disk that is not as Ignition should have left it', async () => {
    ignite(SERVED);
    write('/etc/motd', 'somebody else');

    await expect(completeFirstBoot(await host.ports())).rejects.toMatchObject({
      name: 'ConfigDrift',
      details: { path: '/etc/motd' },
    });
    expect((await host.status()).staged).toBeUndefined();
  });

  it('leaves a machine alone that has been given another config since', async () => {
    ignite(AGREED);
    await bootUntilComplete();
    write(
      FIRST_BOOT_PLACES.ENCAPSULATED,
      readFileSync(at(`${FIRST_BOOT_PLACES.ENCAPSULATED}.bak`), 'utf8'),
    );

    expect(await bootUntilComplete()).toBe(0);

    await expectComplete(AGREED);
  });

  it.each<[string, string, string | undefined]>([
    ['is missing', FIRST_BOOT_PLACES.SERVED, undefined],
    ['is not JSON', FIRST_BOOT_PLACES.SERVED, '{'],
    ['is not a MachineConfig', FIRST_BOOT_PLACES.SERVED, '{"metadata":{"name":"a"},"spec":{}}'],
    ['is not a MachineConfig', FIRST_BOOT_PLACES.ENCAPSULATED, '{"metadata":{}}'],
    [
      'is of other, but',
      FIRST_BOOT_PLACES.SERVED,
      '{"metadata":{"name":"other"},"spec":{"config":{}}}',
    ],
  ])('says what %s', async (problem, path, text) => {
    ignite(SERVED);
    if (text === undefined) rmSync(at(path));
    else if (problem === 'is not a MachineConfig' && path === FIRST_BOOT_PLACES.SERVED) {
      write(path, text.replace('"a"', `"${SERVED.reference.name}"`));
    } else write(path, text);

    await expect(completeFirstBoot(await host.ports())).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: expect.stringContaining(`${path} ${problem}`) as unknown,
    });
  });

  it('is complete whatever call was the last one before the process died', async () => {
    const begin = async (): Promise<void> => {
      host.remove();
      host = await anOstreeHost(INSTALLED, [SERVED, AGREED, NEXT, OLD_IGNITION, OLD_NEXT]);
      rmSync(at('/etc/machine-config-daemon/currentconfig'));
      rmSync(at('/var/lib/slipway/committed.json'));
      ignite(SERVED);
    };
    /** Both boots in a process that may die; then as many as needed. */
    const live = async (dying: ReturnType<typeof dyingAt>): Promise<boolean> => {
      try {
        const first = await completeFirstBoot(await host.ports(dying.fs));
        if (first.kind === 'reboot') await host.reboot();
        await settleAtStart(await host.ports(dying.fs));
        await completeFirstBoot(await host.ports(dying.fs));
        return true;
      } catch {
        return false;
      }
    };
    await begin();
    const whole = dyingAt(Number.POSITIVE_INFINITY);
    expect(await live(whole)).toBe(true);
    const steps = whole.steps();
    expect(steps).toBeGreaterThan(40);
    for (let step = 1; step <= steps; step += 7) {
      await begin();
      expect({ step, ended: await live(dyingAt(step)) }).toEqual({ step, ended: false });
      await bootUntilComplete();
      expect({ step, image: (await host.status()).booted.image }).toEqual({
        step,
        image: SERVED_IMAGE,
      });
      await expectComplete(SERVED);
    }
  }, 120_000);
});
