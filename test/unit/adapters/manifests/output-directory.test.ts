import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeOutputDirectory } from '../../../../adapters/manifests';

const folders = ['configs', 'pools'];
let parent = '';
let directory = '';

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'slipway-output-'));
  directory = join(parent, 'out');
});

afterEach(async () => {
  await rm(parent, { recursive: true, force: true });
});

function write(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  return writeOutputDirectory({ directory, folders, files: new Map(Object.entries(files)) });
}

async function visible(): Promise<readonly string[]> {
  const all = await readdir(directory, { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

it('writes files that only their owner can read', async () => {
  await mkdir(directory, { mode: 0o755 });
  expect(await write({ 'configs/a.yaml': 'a', 'pools/p.yaml': 'p' })).toEqual([]);

  expect(await visible()).toEqual(['configs/a.yaml', 'pools/p.yaml']);
  expect(await readFile(join(directory, 'configs/a.yaml'), 'utf8')).toBe('a');
  for (const path of ['', 'configs', 'pools']) {
    expect((await stat(join(directory, path))).mode & 0o777).toBe(0o700);
  }
  expect((await stat(join(directory, 'pools/p.yaml'))).mode & 0o777).toBe(0o600);
  expect((await readdir(directory)).sort()).toEqual(['.slipway-render.json', 'configs', 'pools']);
});

it('replaces what it wrote before, and removes what is no longer there', async () => {
  await write({ 'configs/a.yaml': 'a', 'pools/p.yaml': 'a', 'pools/q.yaml': 'a' });
  expect(await write({ 'configs/b.yaml': 'b', 'pools/p.yaml': 'b' })).toEqual([]);

  expect(await visible()).toEqual(['configs/b.yaml', 'pools/p.yaml']);
  expect(await readFile(join(directory, 'pools/p.yaml'), 'utf8')).toBe('b');
});

it('goes on where a run was cut off', async () => {
  await write({ 'configs/a.yaml': 'a', 'pools/p.yaml': 'a' });
  await mkdir(join(directory, '.slipway-render-new/configs'), { recursive: true });
  await writeFile(join(directory, '.slipway-render-new/configs/half.yaml'), 'ha');
  await writeFile(join(directory, '.slipway-render.json.new'), '{');

  expect(await write({ 'configs/b.yaml': 'b', 'pools/p.yaml': 'b' })).toEqual([]);

  expect(await visible()).toEqual(['configs/b.yaml', 'pools/p.yaml']);
});

it.each(['notes.txt', 'configs/mine.yaml'])(
  'writes nothing where there is a file of somebody else: %s',
  async (foreign) => {
    await write({ 'configs/a.yaml': 'a' });
    await writeFile(join(directory, foreign), 'mine');

    expect(await write({ 'configs/b.yaml': 'b' })).toEqual([foreign]);

    expect(await visible()).toEqual(['configs/a.yaml', foreign].sort());
  },
);

it('leaves folders alone that it is told of', async () => {
  await mkdir(join(directory, 'tokens'), { recursive: true });
  await writeFile(join(directory, 'tokens/one'), 'x');
  const files = new Map([['configs/a.yaml', 'a']]);

  expect(await writeOutputDirectory({ directory, folders, files, beside: ['tokens'] })).toEqual([]);

  expect(await visible()).toEqual(['configs/a.yaml', 'tokens/one']);
});

it('removes nothing outside, whatever its list says', async () => {
  await write({ 'configs/a.yaml': 'a' });
  await writeFile(join(parent, 'precious'), 'x');
  const files = ['configs/a.yaml', '../precious', 'configs/../../precious', 'configs/..'];
  await writeFile(join(directory, '.slipway-render.json'), JSON.stringify({ files }));

  expect(await write({ 'configs/b.yaml': 'b' })).toEqual([]);

  expect(await readFile(join(parent, 'precious'), 'utf8')).toBe('x');
  expect(await visible()).toEqual(['configs/b.yaml']);
});

it('moves a pool only when what it names is there', async () => {
  await write({ 'configs/a.yaml': 'a', 'pools/p.yaml': 'a' });
  // A directory in the place of the config makes its move fail.
  await rm(join(directory, 'configs/a.yaml'));
  await mkdir(join(directory, 'configs/b.yaml/full'), { recursive: true });

  await expect(write({ 'configs/b.yaml': 'b', 'pools/p.yaml': 'b' })).rejects.toThrow();

  expect(await readFile(join(directory, 'pools/p.yaml'), 'utf8')).toBe('a');
});

it.each(['/proc/x', '/proc/x/y', '/dev/null/x'])(
  'ends where nothing can be made: %s',
  async (place) => {
    directory = place;

    await expect(write({ 'configs/a.yaml': 'a' })).rejects.toMatchObject({
      code: expect.stringMatching(/^(ENOENT|ENOTDIR|EACCES)$/) as string,
    });
  },
);

it('makes the directories above it', async () => {
  directory = join(parent, 'one', 'two');

  await write({ 'configs/a.yaml': 'a' });

  expect(await visible()).toEqual(['configs/a.yaml']);
  expect((await stat(join(parent, 'one'))).mode & 0o777).toBe(0o700);
});
