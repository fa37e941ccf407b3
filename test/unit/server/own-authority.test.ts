import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followAuthority } from '../../../server/own-authority';
import { until } from '../../integration/tools/until';

const QUIET = { info: () => undefined, warn: () => undefined };
let directory = '';
const ended = new AbortController();

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-own-authority-'));
});
afterAll(() => {
  ended.abort();
  rmSync(directory, { recursive: true, force: true });
});

it('the authorities of the server are those of the file, which may come later', async () => {
  const file = join(directory, 'ca.crt');
  const told = followAuthority(file, { signal: ended.signal, log: QUIET });
  expect(told()).toBeUndefined();

  writeFileSync(file, 'PEM');

  await until(async () => told() === 'PEM', 'the file is read');
});

it('without a setting, nothing is told', () => {
  expect(followAuthority(undefined, { signal: ended.signal, log: QUIET })()).toBeUndefined();
});
