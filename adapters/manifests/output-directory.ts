/**
 * Writes a directory of files that hold secrets. They are written to a temporary place and moved in
 * order: a full disk changes nothing, and the next run completes an interrupted one.
 */

import type { Dirent } from 'node:fs';
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/** No file outside this list is replaced or removed. */
const LIST = '.slipway-render.json';
const STAGING = '.slipway-render-new';

interface OutputDirectory {
  readonly directory: string;
  /** Each path starts with one of `folders`. */
  readonly files: ReadonlyMap<string, string>;
  /** Those that others refer to come first. */
  readonly folders: readonly string[];
  /** These may hold files of others. */
  readonly beside?: readonly string[];
}

/**
 * Exactly these files, readable by their owner only. Other files of an earlier run are removed
 * last.
 *
 * @returns paths of files of others; if there are any, nothing was written
 */
export async function writeOutputDirectory(output: OutputDirectory): Promise<readonly string[]> {
  const { directory, files, folders } = output;
  const [there, listed] = await Promise.all([filesBelow(directory, ''), readList(directory)]);
  const isForeign = (path: string): boolean =>
    !listed.includes(path) &&
    !(output.beside ?? []).some((folder) => path.startsWith(`${folder}/`));
  const foreign = there.filter(isForeign);
  if (foreign.length > 0) return foreign;
  const earlier = listed.filter((path) => isOurs(path, folders));
  await makeDirectory(directory);
  await chmod(directory, DIRECTORY_MODE);
  const staging = join(directory, STAGING);
  await rm(staging, { recursive: true, force: true });
  for (const [path, text] of files) await writeSynced(join(staging, path), text);
  const all = [...new Set([...earlier, ...files.keys()])].sort();
  await writeList(directory, all);
  const rank = (path: string): number =>
    folders.findIndex((folder) => path.startsWith(`${folder}/`));
  for (const path of inOrder([...files.keys()], rank)) {
    await makeDirectory(dirname(join(directory, path)));
    await rename(join(staging, path), join(directory, path));
  }
  // Pools go before the objects that they name.
  for (const path of [...inOrder(earlier, rank)].reverse()) {
    if (!files.has(path)) await rm(join(directory, path), { force: true });
  }
  await rm(staging, { recursive: true, force: true });
  await writeList(directory, [...files.keys()].sort());
  for (const folder of [...folders, '.']) await syncDirectory(join(directory, folder));
  return [];
}

/** Node's own `recursive` never ends below /proc. */
async function makeDirectory(path: string): Promise<void> {
  const make = () => mkdir(path, { mode: DIRECTORY_MODE });
  try {
    await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectory(dirname(path));
    await make();
  }
}

function inOrder(paths: readonly string[], rank: (path: string) => number): readonly string[] {
  return [...paths].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** An edited list must not remove files elsewhere. */
function isOurs(path: string, folders: readonly string[]): boolean {
  const [folder = '', name = '', ...more] = path.split('/');
  return folders.includes(folder) && more.length === 0 && name !== '' && name !== '..';
}

async function filesBelow(directory: string, prefix: string): Promise<readonly string[]> {
  const entries = await readdir(join(directory, prefix), { withFileTypes: true }).catch(
    (error: unknown): Dirent[] => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    },
  );
  const own = entries.filter(({ name }) => prefix !== '' || !name.startsWith('.slipway-render'));
  const nested = await Promise.all(
    own.map(async (entry) => {
      const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
      return entry.isDirectory() ? filesBelow(directory, path) : [path];
    }),
  );
  return nested.flat();
}

async function readList(directory: string): Promise<readonly string[]> {
  try {
    const list: unknown = JSON.parse(await readFile(join(directory, LIST), 'utf8'));
    const { files } = list as { readonly files?: unknown };
    return Array.isArray(files) ? files.filter((path) => typeof path === 'string') : [];
  } catch (error) {
    const isForeign =
      error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isForeign) return [];
    throw error;
  }
}

async function writeList(directory: string, files: readonly string[]): Promise<void> {
  const path = join(directory, `${LIST}.new`);
  await writeSynced(path, `${JSON.stringify({ files }, null, 2)}\n`);
  await rename(path, join(directory, LIST));
}

async function writeSynced(path: string, text: string): Promise<void> {
  await makeDirectory(dirname(path));
  const file = await open(path, 'w', FILE_MODE);
  try {
    await file.chmod(FILE_MODE);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  if (directory === undefined) return;
  await directory.sync();
  await directory.close();
}
