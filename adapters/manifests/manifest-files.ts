import type { Dirent } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { ManifestProblem } from './manifest-problem';

/** Larger than any list of objects that an API server stores. */
const MAX_BYTES = 64 * 1024 * 1024;
/** kustomize accepts the last one. */
const MANIFEST = /\.(ya?ml|json)$|^Kustomization$/i;

export interface ManifestFile {
  readonly path: string;
  readonly text: string;
}

interface ManifestFiles {
  readonly files: readonly ManifestFile[];
  readonly problems: readonly ManifestProblem[];
}

/**
 * A directory tree, sorted by path, without hidden files. Follows links to directories; a link to
 * an enclosing directory is a problem.
 *
 * @throws the error of the file system when the directory itself is unreadable
 */
export async function readManifestFiles(directory: string): Promise<ManifestFiles> {
  const files: ManifestFile[] = [];
  const problems: ManifestProblem[] = [];
  for (const path of await manifestPaths(directory, [], problems)) {
    const read = await readText(path);
    if ('text' in read) files.push({ path, text: read.text });
    else problems.push({ file: path, line: 1, column: 1, ...read });
  }
  return { files, problems };
}

/** @param around - the real paths of the enclosing directories */
async function manifestPaths(
  directory: string,
  around: readonly string[],
  problems: ManifestProblem[],
): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const inside = [...around, await realpath(directory)];
  const visible = entries
    .filter(({ name }) => !name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const paths: string[] = [];
  for (const entry of visible) {
    const path = join(directory, entry.name);
    if (!(await isDirectory(entry, path))) {
      if (MANIFEST.test(entry.name)) paths.push(path);
    } else if (entry.isSymbolicLink() && (await leadsBack(path, inside))) {
      const problem = 'a link back to a directory around it, which is not followed';
      problems.push({ file: path, line: 1, column: 1, problem, fix: 'remove it' });
    } else {
      paths.push(...(await manifestPaths(path, inside, problems)));
    }
  }
  return paths;
}

async function isDirectory(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  // Reading a broken link as a manifest fails.
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function leadsBack(link: string, inside: readonly string[]): Promise<boolean> {
  const target = await realpath(link);
  const prefix = target.endsWith(sep) ? target : `${target}${sep}`;
  return inside.some((directory) => `${directory}${sep}`.startsWith(prefix));
}

type Read = { readonly text: string } | { readonly problem: string; readonly fix: string };

async function readText(path: string): Promise<Read> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { problem: 'not a file', fix: 'remove it or give it another name' };
    if (found.size > MAX_BYTES) {
      return { problem: `larger than ${MAX_BYTES} bytes`, fix: 'split it into several files' };
    }
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      return { problem: 'not UTF-8', fix: 'save it as UTF-8' };
    }
    return { problem: `cannot be read (${code})`, fix: 'correct its permissions, or remove it' };
  }
}
