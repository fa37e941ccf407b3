import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  PayloadKey,
  PayloadKeyFiles,
  payloadKeyId,
  payloadKeysOf,
} from '../../../../process/temporal/payload-keys';

const NOVEMBER = Date.UTC(2026, 10, 30, 12);

let directory: string;
let nowMs: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-payload-keys-'));
  nowMs = NOVEMBER;
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function addKey(name: string): void {
  writeFileSync(join(directory, name), randomBytes(32));
}

function open(mayCome = false): PayloadKeyFiles {
  const log = { warn: () => undefined };
  return new PayloadKeyFiles(directory, { log, mayCome, now: () => nowMs });
}

it('a new key is known at once, and used when every process knows it', () => {
  addKey('20261001T000000Z');
  const keys = open();
  addKey('20261130T120000Z');

  nowMs += 60_000;
  expect(keys.all().map(({ id }) => id)).toEqual(['20261001T000000Z', '20261130T120000Z']);
  expect(keys.current().id).toBe('20261001T000000Z');

  nowMs += 10 * 60_000;
  expect(keys.current().id).toBe('20261130T120000Z');
});

it('a key that was dropped counts no longer', () => {
  addKey('20261001T000000Z');
  addKey('20261002T000000Z');
  const keys = open();

  rmSync(join(directory, '20261001T000000Z'));
  nowMs += 60_000;

  expect(keys.all().map(({ id }) => id)).toEqual(['20261002T000000Z']);
});

it('keys that come later are waited for, where they may come, and refuse to encode until then', () => {
  expect(() => open()).toThrow(/there is no key in/);
  const keys = open(true);

  expect(keys.waitingFor()).toEqual([`the keys of payloads in ${directory}`]);
  expect(() => keys.current()).toThrow(/there is no key in .* yet/);

  addKey('20261130T115959Z');
  nowMs += 1_000;

  expect(keys.current().id).toBe('20261130T115959Z');
  expect(keys.waitingFor()).toEqual([]);
});

it('a key is named by the second in which it is made', () => {
  const id = payloadKeyId(new Date(NOVEMBER + 123));

  expect(id).toBe('20261130T120000Z');
  expect(new PayloadKey(id, randomBytes(32)).madeMs).toBe(NOVEMBER);
});

it('each purpose has a key of its own', () => {
  const key = new PayloadKey('20261130T120000Z', randomBytes(32));

  expect(key.for('one')).toHaveLength(32);
  expect(key.for('one')).toEqual(key.for('one'));
  expect(key.for('one')).not.toEqual(key.for('other'));
});

it('no entry is no key, and a bad one is named and not quoted', () => {
  expect(payloadKeysOf([])).toBeUndefined();
  const text = 'too short and secret';

  const reading = () => payloadKeysOf([['20261130T120000Z', Buffer.from(text)]]);

  expect(reading).toThrow('20261130T120000Z has 20 bytes, not 32');
  expect(reading).not.toThrow(text);
});
