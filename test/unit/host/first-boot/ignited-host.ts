/** A machine as Ignition leaves it, and its first boot. */

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { completeFirstBoot } from '../../../../host/first-boot/first-boot';
import { FIRST_BOOT_PLACES } from '../../../../host/first-boot/ignition-files';
import { readCurrentConfig } from '../../../../host/records/configs';
import { aConfig, aFile, orderFor, type TestConfig } from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';

export const INSTALLED_IMAGE = `os@sha256:${'1'.repeat(64)}`;
export const SERVED_IMAGE = `os@sha256:${'2'.repeat(64)}`;

export const INSTALLED = aConfig('what-the-installer-wrote', { osImageURL: INSTALLED_IMAGE });
export const SERVED_FILES = [aFile('/etc/motd', 'served'), aFile('/etc/secret', 'token', 0o600)];
export const SERVED = aConfig('rendered-worker-1', {
  osImageURL: SERVED_IMAGE,
  kernelArguments: ['nosmt audit=0'],
  extensions: ['usbguard'],
  config: { storage: { files: SERVED_FILES } },
});

/** A machine that was never managed. */
export async function anInstalledHost(configs: readonly TestConfig[]): Promise<OstreeHost> {
  const host = await anOstreeHost(INSTALLED, configs);
  rmSync(join(host.root, '/etc/machine-config-daemon/currentconfig'));
  rmSync(join(host.root, '/var/lib/slipway/committed.json'));
  return host;
}

export function write(root: string, path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
}

/**
 * The state that Ignition leaves of a config with the server's additions; `moved` = arguments for an old Ignition.
 */
export function ignite(
  { root }: { readonly root: string },
  { reference: { name }, spec }: TestConfig,
  moved: readonly string[] = [],
): void {
  const annotations = { 'slipway.dev/moved-kernel-arguments': String(moved.length) };
  const metadata = { name, ...(moved.length === 0 ? {} : { annotations }) };
  const served = { ...spec, kernelArguments: [...spec.kernelArguments, ...moved] };
  const object = { apiVersion: 'v1', kind: 'MachineConfig', metadata, spec: served };
  const empty = { ...object, spec: { ...served, config: { ignition: { version: '3.5.0' } } } };
  for (const { path, contents, mode } of spec.config.storage?.files ?? []) {
    const text = decodeURIComponent(String(contents?.source).slice('data:,'.length));
    write(root, path, text, mode);
  }
  write(root, FIRST_BOOT_PLACES.ANNOTATIONS, '{}');
  write(root, FIRST_BOOT_PLACES.SERVED, JSON.stringify(object, null, 4));
  write(root, FIRST_BOOT_PLACES.ENCAPSULATED, JSON.stringify(empty));
}

/** Runs the two programs before the kubelet, with the reboots that they ask for; returns their number. */
export async function bootUntilComplete(host: OstreeHost): Promise<number> {
  for (let reboots = 0; ; reboots += 1) {
    await host.settle();
    const done = await completeFirstBoot(await host.ports());
    if (done.kind !== 'reboot') return reboots;
    if (reboots > 5) throw new Error('it does not end');
    await host.reboot();
  }
}

export async function currentOf(host: OstreeHost) {
  return (await readCurrentConfig((await host.ports()).files))?.reference;
}

export async function expectComplete(host: OstreeHost, config: TestConfig): Promise<void> {
  expect(await currentOf(host)).toEqual(config.reference);
  expect(await (await host.ports()).journal.open()).toBeUndefined();
  expect(existsSync(join(host.root, FIRST_BOOT_PLACES.ENCAPSULATED))).toBe(false);
  const prepared = await (await host.activities()).prepareUpdate(orderFor(config, 'prepareUpdate'));
  expect(prepared).toMatchObject({ alreadyOnTarget: true, plan: { reboot: false } });
}
