import type * as fs from 'node:fs';
import { type FSWatcher, mkdirSync, mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followFiles } from '../../../server/follow-files';

jest.mock('node:fs', () => {
  const actual = jest.requireActual<typeof fs>('node:fs');
  return { ...actual, watch: jest.fn(actual.watch) };
});

const watches = jest.mocked(watch);
let root: string;
let abort: AbortController;
const warnings: string[] = [];
const log = { info: () => undefined, warn: (_: object, text: string) => void warnings.push(text) };

beforeEach(() => {
  jest.useFakeTimers();
  root = mkdtempSync(join(tmpdir(), 'slipway-follow-'));
  abort = new AbortController();
  warnings.length = 0;
  watches.mockClear();
});

afterEach(() => {
  abort.abort();
  rmSync(root, { recursive: true });
  jest.useRealTimers();
});

it('goes on without a watch that cannot be had, and tries again', () => {
  watches.mockImplementationOnce(() => {
    throw Object.assign(new Error('ENOSPC: no space for watchers'), { code: 'ENOSPC' });
  });
  let changes = 0;
  followFiles([join(root, 'c.pem')], () => (changes += 1), { signal: abort.signal, log });

  expect(warnings).toEqual(['files are not followed; will try again']);
  jest.advanceTimersByTime(10_000);

  expect(watches).toHaveBeenCalledTimes(2);
  // The change in between was not seen.
  expect(changes).toBe(1);
});

it('opens a watch again that failed', () => {
  followFiles([join(root, 'c.pem')], () => undefined, { signal: abort.signal, log });
  const watcher = watches.mock.results[0]?.value as FSWatcher;

  watcher.emit('error', new Error('gone'));
  jest.advanceTimersByTime(10_000);

  expect(warnings).toHaveLength(1);
  expect(watches).toHaveBeenCalledTimes(2);
});

it('is not put off by what changes all the time beside the file', () => {
  let changes = 0;
  followFiles([join(root, 'c.pem')], () => (changes += 1), { signal: abort.signal, log });
  const watcher = watches.mock.results[0]?.value as FSWatcher;

  for (let i = 0; i < 10; i += 1) {
    watcher.emit('change', 'change', 'server.log');
    jest.advanceTimersByTime(100);
  }

  expect(changes).toBeGreaterThan(1);
});

it('says nothing of what changes around a directory that is still to come', () => {
  let changes = 0;
  const file = join(root, 'later', 'c.pem');
  followFiles([file], () => (changes += 1), { signal: abort.signal, log });
  expect(watches.mock.calls.map(([directory]) => directory)).toEqual([root]);
  const watcher = watches.mock.results[0]?.value as FSWatcher;

  watcher.emit('change', 'rename', 'other');
  jest.advanceTimersByTime(1_000);
  expect(changes).toBe(0);

  mkdirSync(join(root, 'later'));
  watcher.emit('change', 'rename', 'later');
  jest.advanceTimersByTime(1_000);
  expect(changes).toBe(1);
});
