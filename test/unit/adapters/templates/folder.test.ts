/** A folder of templates that changes. */

import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WatchedTemplates } from '../../../../adapters/templates';

let directory = '';
let watched: WatchedTemplates;
let changes = 0;
const ended = new AbortController();

beforeEach(async () => {
  jest.useFakeTimers();
  directory = mkdtempSync(join(tmpdir(), 'slipway-templates-'));
  write('a.yaml', 'first');
  watched = await opened(LOOK_MS);
  // Files have the times of the real clock.
  jest.setSystemTime(jest.getRealSystemTime());
  changes = 0;
  watched.subscribe(() => {
    changes += 1;
  });
});

afterEach(() => {
  jest.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});
afterAll(() => ended.abort());

const LOOK_MS = 2_000;

/** The folder at rest, after this time. */
async function opened(ms: number): Promise<WatchedTemplates> {
  const opening = WatchedTemplates.open(directory, ended.signal);
  await jest.advanceTimersByTimeAsync(ms);
  return opening;
}

const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
const first = { files: [{ path: 'a.yaml', text: 'first' }] };
const second = { files: [{ path: 'a.yaml', text: 'second' }] };

test('a change counts when two looks in a row see the same', () => {
  write('a.yaml', 'second');
  watched.look();
  expect(watched.current).toEqual(first);
  watched.look();
  expect(watched.current).toEqual(second);
  watched.look();
  expect(changes).toBe(1);
});

test('a folder that is still being copied is not taken', () => {
  write('a.yaml', '');
  watched.look();
  write('a.yaml', 'sec');
  watched.look();
  write('a.yaml', 'second');
  watched.look();
  expect(watched.current).toEqual(first);
  watched.look();
  expect(watched.current).toEqual(second);
  expect(changes).toBe(1);
});

test('a folder that is at rest is taken at once', async () => {
  jest.setSystemTime(Date.now() + 60_000);

  expect((await opened(0)).current).toEqual(first);
});

test('a folder that is still being copied at the start is waited for', async () => {
  write('a.yaml', 'fir');
  let taken: WatchedTemplates | undefined;
  const opening = WatchedTemplates.open(directory, ended.signal).then((one) => (taken = one));
  write('a.yaml', 'second');
  await jest.advanceTimersByTimeAsync(LOOK_MS);
  expect(taken).toBeUndefined();
  await jest.advanceTimersByTimeAsync(LOOK_MS);

  expect((await opening).current).toEqual(second);
});

test('no file of a folder that has just been copied shows it by its own times', async () => {
  write('b.yaml', '');
  utimesSync(join(directory, 'a.yaml'), 1, 1);
  utimesSync(join(directory, 'b.yaml'), 1, 1);
  utimesSync(directory, 1, 1);
  let isTaken = false;
  void WatchedTemplates.open(directory, ended.signal).then(() => (isTaken = true));
  await jest.advanceTimersByTimeAsync(0);

  expect(isTaken).toBe(false);
});

test('a change that is taken back between two looks is none', () => {
  for (const text of ['second', 'first', 'second']) {
    write('a.yaml', text);
    watched.look();
  }
  expect(watched.current).toEqual(first);
  expect(changes).toBe(0);
});

test('a folder that is away for one look is not missing', () => {
  rmSync(directory, { recursive: true });
  watched.look();
  expect(watched.current).toEqual(first);
  watched.look();
  expect(watched.current).toEqual({
    problem: `the templates in ${directory} cannot be read (ENOENT)`,
  });
});
