import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostFiles, createJournal } from '../../../../adapters/host';
import { encodeEntry, FIRST_CHECKSUM } from '../../../../adapters/host/journal-log';
import { encodeSeal } from '../../../../adapters/host/journal-seal';
import { simulatedOwnership } from '../../../../adapters/simulation';
import { treeOf } from './trees';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-version-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('a journal of a later version is refused, and left as it is', async () => {
  const directory = join(root, 'var/lib/slipway/journal/order');
  mkdirSync(directory, { recursive: true });
  const { line, checksum } = encodeEntry({ type: 'begin', version: 2, header: {} }, FIRST_CHECKSUM);
  const { bytes } = encodeSeal({ count: 2, length: line.length, checksum, isClosed: false });
  writeFileSync(join(directory, 'log'), line);
  writeFileSync(join(directory, 'seal'), bytes);
  const before = treeOf(root);
  const files = createHostFiles({ root, ownership: simulatedOwnership(root) });

  await expect(createJournal<object, string>(files).open()).rejects.toMatchObject({
    name: 'LaterVersion',
    message:
      'journal /var/lib/slipway/journal/order/log is of version 2, written by a later Slipway, and this one knows ' +
      'version 1 at most: install that later Slipway again until the update of this machine has ended; nothing was changed',
  });
  expect(treeOf(root)).toEqual(before);
});
