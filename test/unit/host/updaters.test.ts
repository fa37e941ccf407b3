/** Finds other updaters of a machine, on directory trees. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMachineTree } from '../../../adapters/host';
import { findUpdaters } from '../../../core/machine/updaters';
import { enabledUnit, installedUnit, layOut, OKD, type Tree } from './a-machine';

const VENDOR = '/usr/lib/systemd/system';
const ZINCATI = enabledUnit('zincati.service', VENDOR);
const MASK = { '/etc/systemd/system/zincati.service': '-> /dev/null' };
const running = (unit: string): Tree => ({ [`/run/systemd/units/invocation:${unit}`]: '-> 1f2e' });

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-updaters-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it.each<[string, Tree, readonly string[]]>([
  ['zincati, as Fedora CoreOS enables it', ZINCATI, ['zincati.service']],
  ['zincati, installed and not enabled', installedUnit('zincati.service', VENDOR), []],
  ['zincati, masked', { ...ZINCATI, ...MASK }, []],
  [
    'zincati, masked while it runs',
    { ...ZINCATI, ...MASK, ...running('zincati.service') },
    ['zincati.service'],
  ],
  [
    'timers, one of which the image enables and the other one somebody has started',
    {
      ...installedUnit('bootc-fetch-apply-updates.timer', VENDOR),
      [`${VENDOR}/default.target.wants/bootc-fetch-apply-updates.timer`]:
        '-> ../bootc-fetch-apply-updates.timer',
      ...installedUnit('rpm-ostreed-automatic.timer', VENDOR),
      ...running('rpm-ostreed-automatic.timer'),
    },
    ['rpm-ostreed-automatic.timer', 'bootc-fetch-apply-updates.timer'],
  ],
  [
    'kured, in whatever namespace and release',
    { '/var/log/pods/ops_reboots-kured-7xk2p_0a1b/kured/0.log': '' },
    ['kured'],
  ],
  ['pods of other programs', { '/var/log/pods/ops_kured-exporter-1_0a1b/exporter/0.log': '' }, []],
  ['nothing', {}, []],
])('%s', (_, tree, names) => {
  layOut(root, { ...OKD, ...tree });

  expect(findUpdaters(createMachineTree(root))).toEqual(names);
});
