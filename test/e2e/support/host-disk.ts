/**
 * Compares the disk of a host with a rendered config: all that it wants is there, and nothing is left of another.
 * Uses none of the product's code.
 */

import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '../../../tools/cluster';
import { enablementDifferences } from './enablement';
import { temporaryFiles } from './leftovers';
import { ownerDifferences } from './owners';
import { passwordDifferences } from './password';
import {
  renderedConfigs,
  type RenderedConfigs,
  type Wanted,
  wantedPaths,
  type WantedPaths,
} from './rendered-config';
import { bootDifferences } from './simulated-boot';

type WantedFile = Extract<Wanted, { kind: 'file' }>;

/** All differences from the rendered config; empty = byte for byte equal. */
export async function differences(
  api: ApiClient,
  config: string,
  root: string,
): Promise<readonly string[]> {
  return differencesAmong(await renderedConfigs(api), config, root);
}

/** For many hosts: reads the configs once. */
export async function differencesAmong(
  configs: RenderedConfigs,
  config: string,
  root: string,
): Promise<readonly string[]> {
  const rendered = configs.get(config);
  if (rendered === undefined) return [`there is no config ${config}`];
  const others = [...configs.values()].filter((other) => other !== rendered);
  const wanted = wantedPaths(rendered);
  const theirs = others.map(wantedPaths);
  const found: string[] = [];
  for (const [path, expected] of wanted) found.push(...(await compare(root, path, expected)));
  for (const path of pathsOfOthers(theirs, wanted)) {
    if (await isLeft(root, path)) found.push(`${path} is there, and only other configs have it`);
  }
  for (const [path, record] of await remembered(root)) {
    if (!wanted.has(path)) found.push(`${record} is kept, and the config does not have ${path}`);
  }
  return [
    ...found,
    ...(await temporaryFiles(
      root,
      [wanted, ...theirs].flatMap((paths) => [...paths.keys()]),
    )),
    ...(await passwordDifferences(root, rendered, others)),
    ...(await enablementDifferences(root, rendered, others)),
    ...(await bootDifferences(root, rendered)),
  ];
}

/** Paths of other configs that this one does not have. */
function pathsOfOthers(others: readonly WantedPaths[], wanted: WantedPaths): ReadonlySet<string> {
  const paths = others.flatMap((other) =>
    [...other].filter(([, { kind }]) => kind === 'file' || kind === 'mask').map(([path]) => path),
  );
  return new Set(paths.filter((path) => !wanted.has(path)));
}

/** Whether a path exists that no image brought: images also keep their files for /etc below /usr/etc. */
async function isLeft(root: string, path: string): Promise<boolean> {
  const status = await statusOf(join(root, path));
  if (status === undefined || status.isDirectory()) return false;
  const vendors = `${root}/usr${path}`;
  if (!status.isFile() || (await statusOf(vendors)) === undefined) return true;
  return !(await readFile(vendors)).equals(await readFile(join(root, path)));
}

async function statusOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined);
}

const RECORDS = '/etc/machine-config-daemon';
const KEPT = { below: `${RECORDS}/orig`, suffix: '.mcdorig' } as const;
const STAMP = { below: `${RECORDS}/noorig`, suffix: '.mcdnoorig' } as const;

/** Paths whose original state the host keeps, and where it keeps each. */
async function remembered(root: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const { below, suffix } of [KEPT, STAMP]) {
    const names = await readdir(join(root, below), { recursive: true }).catch(() => []);
    for (const name of names) {
      if (name.endsWith(suffix)) found.set(`/${name.slice(0, -suffix.length)}`, `${below}/${name}`);
    }
  }
  return found;
}

async function compare(root: string, path: string, wanted: Wanted): Promise<readonly string[]> {
  const real = join(root, path);
  const status = await statusOf(real);
  const target = status?.isSymbolicLink() === true ? await readlink(real) : undefined;
  switch (wanted.kind) {
    case 'absent':
      return status === undefined ? [] : [`${path} is there`];
    case 'mask':
      return target === '/dev/null' ? [] : [`${path} is no mask`];
    case 'unmasked':
      return target === '/dev/null' ? [`${path} is a mask`] : [];
    case 'file':
      if (status === undefined) return [`${path} is missing`];
      if (!status.isFile()) return [`${path} is no file`];
      return compareFile(root, path, wanted, status);
  }
}

async function compareFile(
  root: string,
  path: string,
  wanted: WantedFile,
  status: Stats,
): Promise<readonly string[]> {
  const mode = status.mode & 0o7777;
  const bytes = await readFile(join(root, path));
  const right = await areRight(root, path, wanted, bytes);
  return [
    ...(wanted.mode === undefined || mode === wanted.mode
      ? []
      : [`${path} has mode ${mode.toString(8)}, not ${wanted.mode.toString(8)}`]),
    ...(await ownerDifferences(root, path, wanted, status)),
    ...(right ? [] : [`${path} has other bytes: ${JSON.stringify(bytes.toString().slice(0, 80))}`]),
  ];
}

async function areRight(
  root: string,
  path: string,
  { bytes, after }: WantedFile,
  now: Buffer,
): Promise<boolean> {
  if (bytes === undefined) return true;
  if (after === undefined) return now.equals(bytes());
  const kept = await readFile(join(root, `${KEPT.below}${path}${KEPT.suffix}`)).catch(
    () => undefined,
  );
  if (kept !== undefined) return now.equals(Buffer.concat([kept, bytes()]));
  const wasNothing = await statusOf(join(root, `${STAMP.below}${path}${STAMP.suffix}`));
  if (wasNothing !== undefined) return now.equals(bytes());
  // After a first boot by Ignition, the original is unknown.
  return now.subarray(Math.max(0, now.length - bytes().length)).equals(bytes());
}

/** The product's state beside the files, which is no part of a config. */
const OWN = ['var/lib/slipway', 'etc/machine-config-daemon', '.slipway-owners.json'];

/** Every path below the root with type, mode and bytes; equal pictures are equal disks. */
export async function pictureOf(root: string, below = ''): Promise<readonly string[]> {
  const lines: string[] = [];
  const entries = await readdir(join(root, below), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (OWN.includes(path)) continue;
    const mode = ((await lstat(join(root, path))).mode & 0o7777).toString(8);
    if (entry.isSymbolicLink()) lines.push(`${path} -> ${await readlink(join(root, path))}`);
    else if (entry.isDirectory()) lines.push(`${path}/ ${mode}`, ...(await pictureOf(root, path)));
    else lines.push(`${path} ${mode} ${(await readFile(join(root, path))).toString('base64')}`);
  }
  return lines;
}
