import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT } from '../../../../cli/exit-codes';
import { createArchive } from '../../../../cli/support/archive';

const MIB = 1024 * 1024;
let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-archive-'));
  file = join(directory, 'it.tar.gz');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The system's tar has to read it. */
const tar = (...args: readonly string[]): string =>
  execFileSync('tar', [...args, '-f', file], { encoding: 'utf8', maxBuffer: 64 * MIB });

it('is read by tar, whatever the names and sizes are, and only by its owner', async () => {
  const archive = await createArchive(file, MIB);
  const long = `kubernetes/${'n'.repeat(150)}/${'m'.repeat(150)}.json`;
  const contents = { 'a.txt': 'ä\n', [long]: 'x'.repeat(513), 'empty.txt': '' };
  for (const [path, text] of Object.entries(contents)) await archive.add(path, text);
  const bytes = await archive.end('manifest.json', '{}');

  expect(tar('-tz').split('\n').filter(Boolean)).toEqual([
    'a.txt',
    long,
    'empty.txt',
    'manifest.json',
  ]);
  expect(tar('-xzO', 'a.txt')).toBe('ä\n');
  expect(tar('-xzO', long)).toHaveLength(513);
  expect(statSync(file)).toMatchObject({ size: bytes });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('stays under its limit, and takes what still fits', async () => {
  const archive = await createArchive(file, MIB);
  const taken: boolean[] = [];
  // What cannot be compressed.
  for (let index = 0; index < 20; index++) {
    taken.push(await archive.add(`${index}`, randomBytes(100_000).toString('latin1')));
  }
  const small = await archive.add('small', 'x'.repeat(2 * MIB));
  await archive.end('manifest.json', 'y'.repeat(100_000));

  expect(taken[0]).toBe(true);
  expect(taken.at(-1)).toBe(false);
  expect(small).toBe(true);
  expect(statSync(file).size).toBeLessThanOrEqual(MIB);
  expect(tar('-tz')).toContain('manifest.json');
});

it('overwrites no file', async () => {
  writeFileSync(file, 'mine');

  await expect(createArchive(file, MIB)).rejects.toMatchObject({
    exitCode: EXIT.USAGE,
    message: expect.stringContaining('--output') as unknown,
  });
});

it('that is discarded leaves no file', async () => {
  const archive = await createArchive(file, MIB);
  await archive.add('a', 'b');
  await archive.discard();

  expect(existsSync(file)).toBe(false);
});
