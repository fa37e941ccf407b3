/** Which links enable a systemd unit, read from its `[Install]` section, as `systemctl enable` does. */

import { posix } from 'node:path';
import type { HostFiles } from './files';

/** Where units of the machine's owner live. */
export const UNIT_DIRECTORY = '/etc/systemd/system';
/** Where units of the distribution live. */
const VENDOR_UNIT_DIRECTORY = '/usr/lib/systemd/system';

const PRESET_DIRECTORIES = ['/etc/systemd/system-preset', '/usr/lib/systemd/system-preset'];

/** What `[Install]` asks for. */
export interface InstallSection {
  readonly wantedBy: readonly string[];
  readonly requiredBy: readonly string[];
  readonly upheldBy: readonly string[];
  readonly alias: readonly string[];
  /** Units that are enabled and disabled together with this one. */
  readonly also: readonly string[];
  /** The instance that enabling a template stands for. */
  readonly defaultInstance?: string;
}

/** Reads `[Install]`; undefined when there is none (a static unit). */
export function parseInstallSection(contents: string): InstallSection | undefined {
  const lists = {
    WantedBy: [] as string[],
    RequiredBy: [] as string[],
    UpheldBy: [] as string[],
    Alias: [] as string[],
    Also: [] as string[],
    DefaultInstance: [] as string[],
  };
  const listNamed = (key: string): string[] | undefined =>
    Object.hasOwn(lists, key) ? lists[key as keyof typeof lists] : undefined;
  let inside = false;
  // A backslash at the end of a line continues it.
  for (const raw of contents.replace(/\\\r?\n/g, ' ').split('\n')) {
    const line = raw.trim();
    if (line.startsWith('[')) inside = line === '[Install]';
    const equals = line.indexOf('=');
    if (!inside || equals === -1 || line.startsWith('#') || line.startsWith(';')) continue;
    const list = listNamed(line.slice(0, equals).trim());
    const values = line.slice(equals + 1).trim();
    if (values === '') list?.splice(0);
    else list?.push(...values.split(/\s+/));
  }
  const { DefaultInstance, ...asking } = lists;
  if (Object.values(asking).every((list) => list.length === 0)) return undefined;
  const defaultInstance = DefaultInstance.at(-1);
  return {
    wantedBy: lists.WantedBy,
    requiredBy: lists.RequiredBy,
    upheldBy: lists.UpheldBy,
    alias: lists.Alias,
    also: lists.Also,
    ...(defaultInstance === undefined ? {} : { defaultInstance }),
  };
}

/** Whether a unit has links of its own; one with nothing but `Also` only speaks for others. */
export function hasOwnLinks(install: InstallSection): boolean {
  const { wantedBy, requiredBy, upheldBy, alias } = install;
  return [wantedBy, requiredBy, upheldBy, alias].some((list) => list.length > 0);
}

/** Paths of the links that enable a unit; none for a template without a default instance. */
export function enablingLinks(unit: string, install: InstallSection): readonly string[] {
  const { defaultInstance } = install;
  if (isTemplate(unit) && defaultInstance === undefined) return [];
  const linked = isTemplate(unit) ? unit.replace('@.', `@${defaultInstance}.`) : unit;
  const below = (kind: string) => (target: string) =>
    posix.join(UNIT_DIRECTORY, `${target}.${kind}`, linked);
  return [
    ...install.wantedBy.map(below('wants')),
    ...install.requiredBy.map(below('requires')),
    ...install.upheldBy.map(below('upholds')),
    ...install.alias
      .filter((alias) => alias !== unit)
      .map((alias) => posix.join(UNIT_DIRECTORY, alias)),
  ];
}

function isTemplate(unit: string): boolean {
  return unit.includes('@.');
}

/** A unit file of the host: the owner's before the distribution's, a template for its instances. */
export interface FoundUnit {
  readonly path: string;
  readonly contents: string;
}

/** Looks a unit up; undefined when the host has none of that name, or it is masked. */
export async function findUnit(
  files: Pick<HostFiles, 'look'>,
  unit: string,
): Promise<FoundUnit | undefined> {
  const template = unit.replace(/@[^.]+\./, '@.');
  for (const name of unit === template ? [unit] : [unit, template]) {
    for (const directory of [UNIT_DIRECTORY, VENDOR_UNIT_DIRECTORY]) {
      const path = posix.join(directory, name);
      const state = await files.look(path);
      if (state.kind === 'file') return { path, contents: state.content.toString('utf8') };
    }
  }
  return undefined;
}

/**
 * Links that enable a unit now, whoever made them: `*.wants`, `*.requires`, `*.upholds` and aliases; of
 * a template, those of all its instances.
 */
export async function presentLinks(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await files.list(UNIT_DIRECTORY)) {
    const path = posix.join(UNIT_DIRECTORY, name);
    const isDependency = /\.(wants|requires|upholds)$/.test(name);
    if (isDependency && isTemplate(unit)) {
      const names = await files.list(path);
      found.push(...names.filter((link) => isOf(unit, link)).map((link) => posix.join(path, link)));
      continue;
    }
    const candidate = isDependency ? posix.join(path, unit) : path;
    if (name === unit) continue;
    const state = await files.look(candidate);
    if (
      state.kind === 'symlink' &&
      posix.basename(linkedUnit(candidate, state.target, unit)) === unit
    )
      found.push(candidate);
  }
  return found;
}

/** Whether a link is the template itself or one of its instances. */
function isOf(template: string, link: string): boolean {
  const [start = '', end = ''] = template.split('@.');
  return link.startsWith(`${start}@`) && link.endsWith(`.${end}`);
}

/** In a `.wants` directory the link's own name counts: an instance links to its template. */
function linkedUnit(path: string, target: string, unit: string): string {
  return posix.basename(path) === unit ? unit : target;
}

/** Whether preset files enable a unit; without a matching line they do not, as on CoreOS. */
export async function presetEnables(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<boolean> {
  const presets = new Map<string, string>();
  for (const directory of PRESET_DIRECTORIES) {
    for (const name of await files.list(directory)) {
      // The same name in /etc hides the one in /usr.
      if (name.endsWith('.preset') && !presets.has(name))
        presets.set(name, posix.join(directory, name));
    }
  }
  for (const [, path] of [...presets].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const state = await files.look(path);
    if (state.kind !== 'file') continue;
    const verdict = presetVerdict(state.content.toString('utf8'), unit);
    if (verdict !== undefined) return verdict;
  }
  return false;
}

function presetVerdict(contents: string, unit: string): boolean | undefined {
  for (const line of contents.split('\n')) {
    const [verb, pattern] = line.trim().split(/\s+/);
    if ((verb !== 'enable' && verb !== 'disable') || pattern === undefined) continue;
    if (posix.matchesGlob(unit, pattern)) return verb === 'enable';
  }
  return undefined;
}
