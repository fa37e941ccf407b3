import { mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** As a whole, or not at all; it is on the disk when this returns. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const directory = dirname(file);
  await mkdir(directory, { recursive: true });
  const made = `${file}.new`;
  await writeThrough(made, text);
  await rename(made, file);
  const opened = await open(directory);
  await opened.sync().finally(() => opened.close());
}

async function writeThrough(file: string, text: string): Promise<void> {
  const opened = await open(file, 'w', 0o644);
  try {
    await opened.writeFile(text);
    await opened.sync();
  } finally {
    await opened.close();
  }
}
