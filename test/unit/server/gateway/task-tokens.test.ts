import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unwrapToken, wrapToken } from '../../../../server/gateway/task-tokens';
import { tokenKeys, type TokenKeys } from '../../../../server/gateway/token-keys';
import { PayloadKeyFiles } from '../../../../process/temporal/payload-keys';

const NOVEMBER = Date.UTC(2026, 10, 30, 12);
const TOKEN = Buffer.from('a token of Temporal');

let directory: string;
let warnings: object[];
let nowMs: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-token-keys-'));
  warnings = [];
  nowMs = NOVEMBER;
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function addKey(name: string, bytes: Buffer = randomBytes(32)): void {
  writeFileSync(join(directory, name), bytes);
}

function open(): TokenKeys {
  const log = { warn: (fields: object) => void warnings.push(fields) };
  return tokenKeys(new PayloadKeyFiles(directory, { log, now: () => nowMs }));
}

describe('a task token', () => {
  it('is of use to the host alone to which the task was handed, at every replica', () => {
    addKey('20261001T000000Z');
    const [one, other] = [open(), open()];

    const wrapped = wrapToken(TOKEN, 'worker-1', one);

    expect(unwrapToken(wrapped, 'worker-1', other)).toEqual(TOKEN);
    expect(unwrapToken(wrapped, 'worker-2', other)).toBeUndefined();
    expect(unwrapToken(wrapped, '', other)).toBeUndefined();
  });

  it('is none after any change, and Temporal’s own is none', () => {
    addKey('20261001T000000Z');
    const keys = open();
    const wrapped = wrapToken(TOKEN, 'worker-1', keys);

    const changed = [...wrapped.keys()].map((at) => {
      const copy = Buffer.from(wrapped);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy;
    });
    const cut = [...wrapped.keys()].map((end) => wrapped.subarray(0, end));

    const others = [...changed, ...cut, TOKEN, Buffer.concat([wrapped, Buffer.of(0)])];
    expect(others.map((bytes) => unwrapToken(bytes, 'worker-1', keys))).toEqual(
      others.map(() => undefined),
    );
  });
});

describe('the keys of task tokens', () => {
  it('sign when every replica knows them, and count at once', () => {
    addKey('20261001T000000Z');
    const [early, late] = [open(), open()];
    addKey('20261130T115900Z');
    const restarted = open();

    const signed = wrapToken(TOKEN, 'worker-1', restarted);
    expect(unwrapToken(signed, 'worker-1', early)).toEqual(TOKEN);

    nowMs += 10 * 60_000;
    const renewed = wrapToken(TOKEN, 'worker-1', restarted);
    expect(renewed.subarray(0, 33)).not.toEqual(signed.subarray(0, 33));
    // It has not looked since.
    expect(unwrapToken(renewed, 'worker-1', late)).toEqual(TOKEN);
    expect(unwrapToken(signed, 'worker-1', late)).toEqual(TOKEN);
  });

  it('stay when the directory becomes unusable, and a warning names the file', () => {
    addKey('20261001T000000Z');
    const keys = open();
    const signed = wrapToken(TOKEN, 'worker-1', keys);

    addKey('20261002T000000Z', Buffer.from('short'));
    nowMs += 60_000;

    expect(unwrapToken(signed, 'worker-1', keys)).toEqual(TOKEN);
    expect(JSON.stringify(warnings)).toMatch(/20261002T000000Z has 5 bytes, not 32/);
  });

  it.each([
    ['no key', () => undefined, /there is no key in/],
    ['a strange name', () => addKey('key.pem'), /key\.pem is not named by the time/],
    ['a day that does not exist', () => addKey('20261399T000000Z'), /is not named by the time/],
    ['a short key', () => addKey('20261001T000000Z', Buffer.alloc(31)), /has 31 bytes, not 32/],
  ])('are refused at the start with %s', (_case, prepare, message) => {
    prepare();

    expect(open).toThrow(message);
  });
});
