/** A rollback also restores files that differ only in owner or extended attributes. */

import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { treeOf } from '../../adapters/host/trees';
import { aConfig, aFile, aHost, bootInto, orderFor, type TestHost } from '../a-host';

const LABELLED = '/etc/labelled';
const configOf = (name: string, text: string, owner: object) =>
  aConfig(`rendered-worker-${name}`, {
    config: {
      storage: { files: [{ ...aFile('/etc/owned', 'the same'), ...owner }, aFile(LABELLED, text)] },
    },
  });
const OLD = configOf('old', 'old', {});
const NEW = configOf('new', 'new', { user: { id: 7 }, group: { id: 8 } });

let host: TestHost;
let before: Readonly<Record<string, string>>;
const labelled = () => join(host.root, LABELLED);

beforeEach(async () => {
  host = await aHost([OLD, NEW]);
  await bootInto(host, OLD);
  execFileSync('setfattr', ['-n', 'user.note', '-v', 'theirs', labelled()]);
  before = treeOf(host.root, 'var');
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
});
afterEach(() => host.remove());

async function goBack() {
  const activities = await host.activities();
  await activities.goBack(orderFor(NEW, 'goBack'));
  await activities.verifyBack(orderFor(NEW, 'verifyBack'));
}

/** As simulated machines keep it, because tests may run without root. */
async function ownerOf(path: string) {
  const { files } = await host.ports();
  const facts = await files.facts(path);
  return facts.kind === 'file' ? facts.owner : undefined;
}

it('brings back an owner when nothing else of the file differs', async () => {
  expect(await ownerOf('/etc/owned')).toEqual({ uid: 7, gid: 8 });

  await goBack();

  expect(await ownerOf('/etc/owned')).toEqual({ uid: 0, gid: 0 });
  expect(treeOf(host.root, 'var')).toEqual(before);
});

it('brings back an attribute that went with a file somebody wrote anew as it was', async () => {
  rmSync(labelled());
  writeFileSync(labelled(), 'old', { mode: 0o644 });

  await goBack();

  expect(treeOf(host.root, 'var')).toEqual(before);
});
