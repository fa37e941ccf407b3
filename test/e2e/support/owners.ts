/** Compares the owners of files on the disk of a host with the config. */

import type { Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account, Wanted } from './rendered-config';

type Wish = Pick<Extract<Wanted, { kind: 'file' }>, 'user' | 'group'>;

/** Written by a simulated host whose process may not change owners. */
const RECORDED = '.slipway-owners.json';

export async function ownerDifferences(
  root: string,
  path: string,
  { user, group }: Wish,
  status: Stats,
): Promise<readonly string[]> {
  const { uid, gid } = process.getuid?.() === 0 ? status : await recorded(root, path);
  return [
    ...(await wrong(`${path} has user`, uid, user, join(root, 'etc/passwd'))),
    ...(await wrong(`${path} has group`, gid, group, join(root, 'etc/group'))),
  ];
}

async function recorded(root: string, path: string): Promise<Pick<Stats, 'uid' | 'gid'>> {
  const text = await readFile(join(root, RECORDED), 'utf8').catch(() => '{}');
  const owners = JSON.parse(text) as Readonly<Record<string, Pick<Stats, 'uid' | 'gid'>>>;
  return owners[path] ?? { uid: 0, gid: 0 };
}

async function wrong(
  what: string,
  now: number,
  wanted: Account | undefined,
  accounts: string,
): Promise<readonly string[]> {
  if (wanted === undefined) return [];
  const id = wanted.id ?? (wanted.name === undefined ? 0 : await numberOf(wanted.name, accounts));
  return now === id ? [] : [`${what} ${now}, not ${id ?? wanted.name}`];
}

/** /etc/passwd and /etc/group have name and number in the same columns. */
async function numberOf(name: string, accounts: string): Promise<number | undefined> {
  const lines = (await readFile(accounts, 'utf8')).split('\n').map((line) => line.split(':'));
  const id = lines.find(([account]) => account === name)?.[2];
  return id === undefined ? undefined : Number(id);
}
