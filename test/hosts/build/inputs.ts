import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Of a file, a folder with its contents, or a text; names and modes count, times do not. */
export async function digestOf(
  texts: readonly string[],
  paths: readonly string[] = [],
): Promise<string> {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}:${text}`);
  for (const path of paths) await addPath(hash, path, '');
  return hash.digest('hex').slice(0, 16);
}

async function addPath(
  hash: ReturnType<typeof createHash>,
  path: string,
  name: string,
): Promise<void> {
  const status = await lstat(path);
  hash.update(
    `${name} ${(status.mode & 0o7777).toString(8)} ${status.size * Number(status.isFile())}\n`,
  );
  if (status.isSymbolicLink()) hash.update(await readlink(path));
  else if (status.isDirectory()) {
    for (const entry of (await readdir(path)).sort()) {
      await addPath(hash, join(path, entry), `${name}/${entry}`);
    }
  } else {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  }
}
