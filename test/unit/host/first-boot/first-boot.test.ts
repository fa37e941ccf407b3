/** From the state after Ignition to a machine on its config, with any fault in between. */

import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { completeFirstBoot } from '../../../../host/first-boot/first-boot';
import { FIRST_BOOT_PLACES } from '../../../../host/first-boot/ignition-files';
import { decodeDataUrl } from '../../../../core/encoding';
import {
  FIRST_BOOT_FILE,
  firstBootConfig,
  type FirstBootFacts,
  readServedIgnition,
} from '../../../../core/first-boot';
import type { IgnitionConfig, MachineConfig } from '../../../../core/machine-config/types';
import { aConfig, aFile, orderFor, type TestConfig } from '../a-host';
import type { OstreeHost } from '../an-ostree-host';
import {
  anInstalledHost,
  bootUntilComplete,
  currentOf,
  expectComplete,
  ignite,
  INSTALLED_IMAGE,
  SERVED,
  SERVED_FILES,
  SERVED_IMAGE,
  write,
} from './ignited-host';

const ignitionArguments = { shouldExist: ['mitigations=off', 'audit=0'] };
const OLD_IGNITION = aConfig('rendered-worker-4', {
  osImageURL: INSTALLED_IMAGE,
  kernelArguments: ['nosmt'],
  config: { storage: { files: SERVED_FILES }, kernelArguments: ignitionArguments },
});
const OLD_NEXT = aConfig('rendered-worker-5', {
  osImageURL: INSTALLED_IMAGE,
  config: { storage: { files: SERVED_FILES }, kernelArguments: ignitionArguments },
});
/** Arguments that the boot loader and the installer spell differently. */
const QUOTED = aConfig('rendered-worker-7', {
  osImageURL: INSTALLED_IMAGE,
  kernelArguments: ['cgroup_no_v1="all"', 'dyndbg="file a +p" psi=0', ''],
  config: { storage: { files: SERVED_FILES } },
});
const SPELLED_OTHERWISE = ['cgroup_no_v1=all', '"dyndbg=file a +p"', 'psi=0'];
/** The same files on the unchanged machine. */
const AGREED = aConfig('rendered-worker-2', {
  osImageURL: INSTALLED_IMAGE,
  config: { storage: { files: SERVED_FILES } },
});
const NEXT = aConfig('rendered-worker-3', { osImageURL: INSTALLED_IMAGE });

let host: OstreeHost;
const at = (path: string): string => join(host.root, path);

/** The state that Ignition leaves of the served bytes of a config. */
function igniteServed({ reference: { name }, spec }: TestConfig, facts: FirstBootFacts): void {
  const machineConfig = { metadata: { name }, spec } as MachineConfig;
  const ignition = readServedIgnition(machineConfig, { gunzip: gunzipSync });
  const served = firstBootConfig({ machineConfig, ignition, facts, version: '3.5' });
  const { storage } = JSON.parse(served) as IgnitionConfig;
  for (const { path, contents, mode } of storage?.files ?? []) {
    const decoded = decodeDataUrl(contents?.source ?? '');
    if (decoded.error !== undefined) throw new Error(`${path}: ${decoded.error}`);
    write(host.root, path, Buffer.from(decoded.bytes).toString(), mode);
  }
}

beforeEach(async () => {
  host = await anInstalledHost([SERVED, AGREED, NEXT, OLD_IGNITION, OLD_NEXT, QUOTED]);
});
afterEach(() => host.remove());

describe('a first boot', () => {
  it('brings image, kernel arguments and extensions with one reboot', async () => {
    ignite(host, SERVED);

    expect(await completeFirstBoot(await host.ports())).toEqual({
      kind: 'reboot',
      config: SERVED.reference.name,
    });
    expect(host.reboots).toEqual([`update to ${SERVED.reference.name}`]);
    await host.reboot();
    expect(await bootUntilComplete(host)).toBe(0);

    expect((await host.status()).booted).toMatchObject({
      image: SERVED_IMAGE,
      kernelArguments: ['nosmt', 'audit=0'],
      extensions: ['usbguard'],
    });
    await expectComplete(host, SERVED);
    expect(host.fetched).not.toContain(SERVED.reference.name);
    expect(readFileSync(at('/etc/motd'), 'utf8')).toBe('served');
  });

  it('is on the config of the cluster when the server moved kernel arguments for an old Ignition', async () => {
    ignite(host, OLD_IGNITION, ['mitigations=off', 'audit=0']);

    expect(await bootUntilComplete(host)).toBe(1);

    expect((await host.status()).booted.kernelArguments).toEqual([
      'nosmt',
      'mitigations=off',
      'audit=0',
    ]);
    await expectComplete(host, OLD_IGNITION);
    // Later updates change their own arguments, and none of Ignition's.
    const activities = await host.activities();
    const { plan } = await activities.prepareUpdate(
      orderFor(OLD_NEXT, 'prepareUpdate', { orderId: 'next' }),
    );
    expect(plan.kernelArguments).toEqual({ add: [], remove: ['nosmt'] });
  });

  it('takes no reboot when the machine is as its config says', async () => {
    ignite(host, AGREED);

    expect(await bootUntilComplete(host)).toBe(0);

    await expectComplete(host, AGREED);
    expect(host.reboots).toEqual([]);
  });

  it('finds the arguments of its config in another spelling, and a later update takes them away', async () => {
    ignite(host, QUOTED);
    host.changeBooted({ kernelArguments: ['ro', ...SPELLED_OTHERWISE] });

    expect(await bootUntilComplete(host)).toBe(0);

    await expectComplete(host, QUOTED);
    const activities = await host.activities();
    const order = (step: string) => orderFor(NEXT, step, { orderId: `next/${step}` });
    await activities.prepareUpdate(order('prepareUpdate'));
    await activities.applyUpdate(order('applyUpdate'));
    expect((await host.status()).staged?.kernelArguments).toEqual(['ro']);
  });

  it('adds the arguments that are missing, in the spelling of its config', async () => {
    ignite(host, QUOTED);
    host.changeBooted({ kernelArguments: ['ro', 'cgroup_no_v1=all'] });

    expect(await bootUntilComplete(host)).toBe(1);

    const words = ['cgroup_no_v1="all"', 'dyndbg="file a +p"', 'psi=0'];
    expect((await host.status()).booted.kernelArguments).toEqual(['ro', ...words]);
    await expectComplete(host, QUOTED);
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
    host = await anInstalledHost([config]);
    igniteServed(config, {
      kubeconfig: 'of the server',
      kubeletAuthority: Buffer.from('of the cluster').toString('base64'),
      registryAuthorities: { 'registry.example.com': 'of the server' },
    });

    expect(await bootUntilComplete(host)).toBe(0);

    await expectComplete(host, config);
    expect(readFileSync(at(KUBECONFIG), 'utf8')).toBe('own');
    expect(readFileSync(at(KUBELET_AUTHORITY), 'utf8')).toBe('of the cluster');
  });

  it('is over once, and keeps to itself what has secrets in it', async () => {
    ignite(host, AGREED);
    await bootUntilComplete(host);

    expect(await completeFirstBoot(await host.ports())).toEqual({ kind: 'none' });
    expect(existsSync(at(`${FIRST_BOOT_PLACES.ENCAPSULATED}.bak`))).toBe(true);
    expect(existsSync(at('/etc/machine-config-daemon/node-annotation.json.bak'))).toBe(true);
    expect(existsSync(at(FIRST_BOOT_PLACES.ANNOTATIONS))).toBe(false);
    expect(statSync(at(FIRST_BOOT_PLACES.SERVED)).mode & 0o777).toBe(0o600);
  });

  it('has nothing to do on a machine without', async () => {
    expect(await completeFirstBoot(await host.ports())).toEqual({ kind: 'none' });
    expect(await currentOf(host)).toBeUndefined();
  });

  it('lets later configs remove what Ignition wrote, and gives back what the image has', async () => {
    write(host.root, '/usr/etc/motd', 'of the image');
    ignite(host, AGREED);
    await bootUntilComplete(host);
    // As in later updates, only for root.
    expect(statSync(at('/etc/machine-config-daemon/orig')).mode & 0o777).toBe(0o700);

    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEXT, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEXT, 'applyUpdate'));

    expect(readFileSync(at('/etc/motd'), 'utf8')).toBe('of the image');
    expect(existsSync(at('/etc/secret'))).toBe(false);
  });

  it('reboots also when its clock was set meanwhile: no order of it expires', async () => {
    ignite(host, SERVED);
    await completeFirstBoot(await host.ports());
    host.clock.now = new Date('2030-01-01T00:30:00Z');

    let counted = 0;
    const first = completeFirstBoot(await host.ports(), async () => void (counted += 1));
    // Nothing was undone, so nothing is repeated and counted.
    expect({ ...(await first), counted }).toMatchObject({ kind: 'reboot', counted: 0 });

    await host.reboot();
    expect(await bootUntilComplete(host)).toBe(0);
    await expectComplete(host, SERVED);
  });

  it('goes on after power cuts', async () => {
    ignite(host, SERVED);
    await completeFirstBoot(await host.ports());

    await host.powerCut();
    const reboots = await bootUntilComplete(host);

    expect(reboots).toBeLessThanOrEqual(2);
    expect((await host.status()).booted.image).toBe(SERVED_IMAGE);
    await expectComplete(host, SERVED);
  });

  it('does not go on from a disk that is not as Ignition should have left it', async () => {
    ignite(host, SERVED);
    write(host.root, '/etc/motd', 'somebody else');

    await expect(completeFirstBoot(await host.ports())).rejects.toMatchObject({
      name: 'ConfigDrift',
      details: { path: '/etc/motd' },
    });
    expect((await host.status()).staged).toBeUndefined();
  });

  it('leaves a machine alone that has been given another config since', async () => {
    ignite(host, AGREED);
    await bootUntilComplete(host);
    write(
      host.root,
      FIRST_BOOT_PLACES.ENCAPSULATED,
      readFileSync(at(`${FIRST_BOOT_PLACES.ENCAPSULATED}.bak`), 'utf8'),
    );

    expect(await bootUntilComplete(host)).toBe(0);

    await expectComplete(host, AGREED);
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
    ignite(host, SERVED);
    if (text === undefined) rmSync(at(path));
    else if (problem === 'is not a MachineConfig' && path === FIRST_BOOT_PLACES.SERVED) {
      write(host.root, path, text.replace('"a"', `"${SERVED.reference.name}"`));
    } else write(host.root, path, text);

    await expect(completeFirstBoot(await host.ports())).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: expect.stringContaining(`${path} ${problem}`) as unknown,
    });
  });
});
