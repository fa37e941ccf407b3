import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Whether a path is a file that may be executed. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false; // missing or not for us: the same for the caller
  }
}

/** The first executable of this name in the directories, or undefined. */
export async function findOnPath(
  name: string,
  directories: readonly string[],
): Promise<string | undefined> {
  for (const directory of directories) {
    const candidate = join(directory, name);
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}
