import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { learnedOrderKeysFile, OrderKeyFiles } from '../../../../adapters/host';
import { firstOrderKey, OrderSigningKey } from '../../../../workers/cluster/orders/stored-key';
import { pinKeys } from '../../../support/signed-orders';

const NOW = new Date('2030-01-01T00:00:00Z');
const first = new OrderSigningKey(firstOrderKey());
const second = new OrderSigningKey(first.next(NOW));

let root: string;
let pinned: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-keys-'));
  pinned = pinKeys(root, first);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const files = () => new OrderKeyFiles(pinned, learnedOrderKeysFile(root), () => NOW);
const serial = async () => (await files().known()).serial;

it('are those of the installation, until a statement rolls them; the next process knows it, too', async () => {
  expect(await files().known()).toEqual(first.keys);

  expect(await files().learn(second.statements)).toEqual(second.keys);

  expect(await files().known()).toEqual(second.keys);
  expect(readFileSync(pinned, 'utf8')).toBe(first.published['keys.json']);
});

it('are written once, however often they are told', async () => {
  const keys = files();
  await Promise.all([1, 2, 3].map(() => keys.learn(second.statements)));
  const written = readFileSync(learnedOrderKeysFile(root), 'utf8');
  rmSync(learnedOrderKeysFile(root));
  await keys.learn([]);

  expect(written).toContain(second.id);
  expect(() => readFileSync(learnedOrderKeysFile(root))).toThrow('ENOENT');
});

it('are those of the file alone when a person has changed it since', async () => {
  await files().learn(second.statements);
  const other = new OrderSigningKey(firstOrderKey());
  pinKeys(root, other);

  expect(await files().known()).toEqual(other.keys);
});

it('are not replaced by what nobody has signed', async () => {
  const thief = new OrderSigningKey(new OrderSigningKey(firstOrderKey()).next(NOW));

  expect(await files().learn(thief.statements)).toEqual(first.keys);
  expect(await serial()).toBe(1);
});

it('say which file is missing or damaged, and what to do', async () => {
  writeFileSync(pinned, '{"serial":1}');
  await expect(files().known()).rejects.toThrow(`${pinned}: keys: is not a list`);

  rmSync(pinned);
  await expect(files().known()).rejects.toThrow(
    /order-keys\.json cannot be read: ENOENT.*; write keys\.json of ConfigMap slipway-order-keys there/,
  );

  pinKeys(root, first);
  await files().learn(second.statements);
  writeFileSync(learnedOrderKeysFile(root), '{');
  await expect(files().known()).rejects.toThrow(/order-keys\.json cannot be read: .*; remove it/);
});
