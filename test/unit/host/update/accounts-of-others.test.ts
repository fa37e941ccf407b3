/**
 * An update that sets a password owns one entry of `/etc/shadow`; other programs may change the others meanwhile.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goBackAlone } from '../../../../host/confirm/unconfirmed';
import { treeOf } from '../../adapters/host/trees';
import { aConfig, aFile, aHost, bootInto, orderFor, type TestHost } from '../a-host';

const OLD = aConfig('rendered-worker-old', { config: { passwd: { users: [{ name: 'core' }] } } });
const passwd = { users: [{ name: 'core', passwordHash: '$6$new' }] };
const NEW = aConfig('rendered-worker-new', { config: { passwd } });
const WHOLE = aConfig('rendered-worker-whole', {
  config: { passwd, storage: { files: [aFile('/etc/shadow', 'core:*::::::\n', 0o600)] } },
});
const ALICE = 'alice:$6$alice:19000:0:99999:7:::\n';

let host: TestHost;
const shadow = () => join(host.root, 'etc/shadow');
const read = () => readFileSync(shadow(), 'utf8');

/** `passwd root; useradd alice` */
function changeOthers(): void {
  writeFileSync(shadow(), `${read().replace('root:!locked:', 'root:$6$rotated:')}${ALICE}`);
}

async function apply(config = NEW): Promise<void> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(config, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(config, 'applyUpdate'));
}

async function goBack(config = NEW): Promise<void> {
  const activities = await host.activities();
  await activities.goBack(orderFor(config, 'goBack'));
  await activities.verifyBack(orderFor(config, 'verifyBack'));
}

beforeEach(async () => {
  host = await aHost([OLD, NEW, WHOLE]);
  await bootInto(host, OLD);
});
afterEach(() => host.remove());

it.each([
  ['a few', ''],
  ['many', Array.from({ length: 200 }, (_, at) => `user${at}:*:19000:0:99999:7:::\n`).join('')],
])('keeps what somebody changes of the others during rollback, of %s', async (_what, more) => {
  writeFileSync(shadow(), `${read()}${more}`);
  const before = read();
  await apply();
  expect(read()).toContain('core:$6$new:');
  changeOthers();

  await goBack();

  expect(read()).toBe(`${before.replace('root:!locked:', 'root:$6$rotated:')}${ALICE}`);
});

it('keeps it, too, when the machine rolls back by itself', async () => {
  const before = read();
  await apply();
  changeOthers();

  await goBackAlone(await host.ports(), 'nobody was reached');

  expect(read()).toBe(`${before.replace('root:!locked:', 'root:$6$rotated:')}${ALICE}`);
});

it('puts every byte back when nobody changed the others, line ends and all', async () => {
  writeFileSync(
    shadow(),
    Buffer.from('root:!locked::0::::\n\ncore:*::0::::\nodd:\x01::0::::', 'latin1'),
  );
  const before = treeOf(host.root, 'var');
  await apply();

  await goBack();

  expect(treeOf(host.root, 'var')).toEqual(before);
});

it.each([
  ['an entry', 'root:!locked::0:99999:7:::\n'],
  ['a line end, too', 'root:!locked::0:99999:7:::'],
])('brings the entry back when somebody removed it, and with it %s', async (_what, left) => {
  await apply();
  writeFileSync(shadow(), left);

  await goBack();

  expect(read()).toMatch(/^root:!locked::0:99999:7:::\ncore:\*::0:99999:7:::\n?$/);
});

it('brings all of it back to a config that has the file whole', async () => {
  const before = read();
  await apply(WHOLE);
  changeOthers();

  await goBack(WHOLE);

  expect(read()).toBe(before);
});
