/** A folder of templates that changes. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WatchedTemplates } from '../../../../adapters/templates';

let directory = '';
let watched: WatchedTemplates;
let changes = 0;
const ended = new AbortController();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-templates-'));
  write('a.yaml', 'first');
  watched = new WatchedTemplates(directory, ended.signal);
  changes = 0;
  watched.subscribe(() => {
    changes += 1;
  });
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));
afterAll(() => ended.abort());

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
