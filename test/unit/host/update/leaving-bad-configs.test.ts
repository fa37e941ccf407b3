/** A machine with a config that is refused today must be able to change to a good one. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readCurrentConfig, writeCurrentConfig } from '../../../../host/records/configs';
import type { RenderedSpec } from '../../../../core/machine-config/types';
import {
  aConfig,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';

const STAYING = aFile('/etc/stays', 'as before');
const GOOD = aConfig('rendered-good', { config: { storage: { files: [STAYING] } } });
const NOT_TOML = aFile('/etc/containers/registries.conf', 'this is no [ TOML');

type Parts = Omit<RenderedSpec['config'], 'ignition'>;

/** Accepted once by a program with fewer checks. */
const BAD: Readonly<Record<string, Parts>> = {
  'a file below the link of another': {
    storage: {
      files: [STAYING, aFile('/etc/linked/below', 'x')],
      links: [{ path: '/etc/linked', target: '/var/linked' }],
    },
  },
  'a file twice': {
    storage: { files: [STAYING, aFile('/etc/twice', 'x'), aFile('/etc/twice', 'x')] },
  },
  'a file in the place of a unit': {
    storage: { files: [STAYING, aFile('/etc/systemd/system/a.service', '[Unit]\n')] },
    systemd: { units: [{ name: 'a.service', contents: '[Unit]\n' }] },
  },
  'a registries.conf that is not TOML': { storage: { files: [STAYING, NOT_TOML] } },
  'contents from elsewhere': {
    storage: {
      files: [STAYING, { path: '/etc/fetched', mode: 0o644, contents: { source: 'https://x/y' } }],
    },
  },
  'a path that is not normalised': { storage: { files: [STAYING, aFile('/etc//a/../b', 'x')] } },
};

let host: TestHost;
afterEach(() => host.remove());

const at = (path: string): string => join(host.root, path);

/** The machine's record and files, as for this config. */
async function onIts(config: TestConfig): Promise<void> {
  host = await aHost([config, GOOD]);
  await bootInto(host, GOOD);
  const { files } = await host.ports();
  await writeCurrentConfig(files, { ...config, raw: config.spec });
  for (const { path } of config.spec.config.storage?.files ?? []) {
    if (existsSync(at(path))) continue;
    mkdirSync(dirname(at(path)), { recursive: true });
    const text = path === NOT_TOML.path ? 'this is no [ TOML' : 'x';
    writeFileSync(at(path), path.endsWith('.service') ? '[Unit]\n' : text);
  }
}

describe.each(Object.entries(BAD))('a machine whose config has %s', (_what, parts) => {
  const bad = aConfig('rendered-bad', { config: parts });
  beforeEach(() => onIts(bad));

  it('goes to a good one', async () => {
    const activities = await host.activities();
    const { plan } = await activities.prepareUpdate(orderFor(GOOD, 'p'));
    expect(plan.reconcilable).toEqual({ ok: true });
    expect(plan.drain).toBe(true);
    await activities.applyUpdate(orderFor(GOOD, 'a'));
    if (plan.reboot) {
      await activities.armReboot(orderFor(GOOD, 'r'));
      await host.boot();
    }
    const booted = await host.activities();
    await booted.verifyUpdate(orderFor(GOOD, 'v'));
    await booted.commitUpdate(orderFor(GOOD, 'c'));

    const { files } = await host.ports();
    expect((await readCurrentConfig(files))?.reference).toEqual(GOOD.reference);
    expect(readFileSync(at(STAYING.path), 'utf8')).toBe('as before');
    expect(existsSync(at('/etc/fetched'))).toBe(false);
  });

  it('and when that fails, back to where it was', async () => {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(GOOD, 'p'));
    await activities.applyUpdate(orderFor(GOOD, 'a'));
    await activities.goBack(orderFor(GOOD, 'b'));
    await activities.verifyBack(orderFor(GOOD, 'vb'));

    const { files } = await host.ports();
    expect((await readCurrentConfig(files))?.reference).toEqual(bad.reference);
  });
});
