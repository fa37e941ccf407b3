/** Links that systemctl makes and removes are as durable as those of the host worker. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createHostFiles,
  createSystemctl,
  type EnablementChange,
  type HostFiles,
} from '../../../../adapters/host';
import { simulatedOwnership } from '../../../../adapters/simulation';

const ETC = '/etc/systemd/system';
const VENDOR = '/usr/lib/systemd/system';
const ID = `${'a'.repeat(64)}.0`;
const NEXT = `/sysroot/ostree/deploy/os/deploy/${ID}`;

let root: string;
/** Directories in the order of their syncs, each with its contents then. */
let synced: [directory: string, names: readonly string[]][];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-syncs-'));
  synced = [];
  write(`${ETC}/a.service.d/10.conf`, '[Service]\n');
  write(`${ETC}/x.target.wants/stays.service`, '');
  write(`${ETC}/y.target.upholds/stays.service`, '');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function telling(): HostFiles {
  const files = createHostFiles({ root, ownership: simulatedOwnership(root) });
  return {
    ...files,
    async syncDirectories(paths) {
      const all = [...paths];
      for (const path of all) synced.push([path, readdirSync(join(root, path)).sort()]);
      await files.syncDirectories(all);
    },
  };
}

/** Replaces systemctl by a program that enables each unit for `new.target`, and syncs nothing. */
function systemctl() {
  const program = join(root, 'systemctl');
  const links = join(root, ETC, 'new.target.requires');
  const script = `[ "$1" != enable ] || { mkdir -p '${links}' && ln -s /dev/null '${links}'/"$3"; }`;
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return createSystemctl(telling(), program);
}

const enable = (unit: string): EnablementChange => ({ unit, wish: 'enable' });

/** Once, after the last link was made. */
const ALL_SYNCED: typeof synced = [
  [ETC, ['a.service.d', 'new.target.requires', 'x.target.wants', 'y.target.upholds']],
  [`${ETC}/new.target.requires`, ['a.service', 'b.service']],
  [`${ETC}/x.target.wants`, ['stays.service']],
  [`${ETC}/y.target.upholds`, ['stays.service']],
];

it('are synced with every directory that may have got or lost some', async () => {
  await systemctl().setEnablement([enable('a.service'), enable('b.service')]);

  expect(synced).toEqual(ALL_SYNCED);
});

it('are synced also when they are made for the boot of another deployment', async () => {
  for (const tree of ['', NEXT]) {
    for (const unit of ['a.service', 'b.service']) {
      write(`${tree}${VENDOR}/${unit}`, '[Install]\nRequiredBy=new.target\n');
    }
  }
  const units = await systemctl().atBootOf(ID);

  await units.setEnablement([enable('a.service'), enable('b.service')]);

  expect(synced).toEqual(ALL_SYNCED);
});

it('cost nothing when no unit is enabled or disabled', async () => {
  const systemd = systemctl();

  await systemd.setEnablement([]);
  await (await systemd.atBootOf(ID)).setEnablement([]);

  expect(existsSync(join(root, ETC, 'new.target.requires'))).toBe(false);
  expect(synced).toEqual([]);
});
