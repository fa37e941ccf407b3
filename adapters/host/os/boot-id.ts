import { readFile } from 'node:fs/promises';

export async function readBootId(procDirectory = '/proc'): Promise<string> {
  return (await readFile(`${procDirectory}/sys/kernel/random/boot_id`, 'utf8')).trim();
}
