/** The next process syncs what a dead process may have left unsynced, before it relies on it. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostFiles, createJournal, type HostFiles } from '../../../../adapters/host';
import { simulatedOwnership } from '../../../../adapters/simulation';

const DIRECTORY = '/var/lib/slipway/journal/order';

let root: string;
let files: HostFiles;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-syncs-'));
  files = createHostFiles({ root, ownership: simulatedOwnership(root) });
  mkdirSync(join(root, 'etc'));
  writeFileSync(join(root, 'etc/motd'), 'old');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Files that record the calls that matter, in order. */
function told(): { readonly files: HostFiles; readonly calls: string[] } {
  const calls: string[] = [];
  const telling: HostFiles = {
    ...files,
    async syncFile(path) {
      calls.push(`sync ${path}`);
      await files.syncFile(path);
    },
    async syncDirectories(paths) {
      const all = [...paths];
      calls.push(...all.map((path) => `sync ${path}`));
      await files.syncDirectories(all);
    },
    async overwrite(path, offset, data) {
      calls.push(`write ${path}`);
      await files.overwrite(path, offset, data);
    },
  };
  return { files: telling, calls };
}

const journalOf = (some: HostFiles) => createJournal<object, string>(some);

/** A journal with a record that the process wrote, and did not seal. */
async function leaveUnsealed(): Promise<void> {
  const journal = await journalOf(files).begin('order', {});
  const seal = join(root, DIRECTORY, 'seal');
  const before = readFileSync(seal);
  await journal.record(['/etc/motd']);
  writeFileSync(seal, before);
}

it('a log that was not sealed is synced before it is', async () => {
  await leaveUnsealed();
  const { files: some, calls } = told();

  await (await journalOf(some).open())?.undo();

  const seal = calls.indexOf(`write ${DIRECTORY}/seal`);
  expect(seal).toBeGreaterThan(0);
  expect(calls.slice(0, seal)).toContain(`sync ${DIRECTORY}/log`);
});

it('an undo makes durable what an earlier one put back and this one finds right', async () => {
  const journal = await journalOf(files).begin('order', {});
  await journal.record(['/etc/motd', '/etc/new/file']);
  mkdirSync(join(root, 'etc/new'));
  await journal.undo();
  const { files: some, calls } = told();

  expect(await (await journalOf(some).open())?.undo()).toBe(false);

  expect(calls).toEqual(expect.arrayContaining(['sync /etc', 'sync /etc/new']));
});
