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
  readonly alias: readonly string[];
}

/** Reads `[Install]`; undefined when there is none (a static unit). */
export function parseInstallSection(contents: string): InstallSection | undefined {
  const found = { wantedBy: [] as string[], requiredBy: [] as string[], alias: [] as string[] };
  const lists: Readonly<Record<string, string[]>> = {
    WantedBy: found.wantedBy,
    RequiredBy: found.requiredBy,
    Alias: found.alias,
  };
  let inside = false;
  // A backslash at the end of a line continues it.
  for (const raw of contents.replace(/\\\r?\n/g, ' ').split('\n')) {
    const line = raw.trim();
    if (line.startsWith('[')) inside = line === '[Install]';
    const equals = line.indexOf('=');
    if (!inside || equals === -1 || line.startsWith('#') || line.startsWith(';')) continue;
    const list = lists[line.slice(0, equals).trim()];
    const values = line.slice(equals + 1).trim();
    if (values === '') list?.splice(0);
    else list?.push(...values.split(/\s+/));
  }
  return found.wantedBy.length + found.requiredBy.length + found.alias.length === 0
    ? undefined
    : found;
}

/** Paths of the links that enable a unit. */
export function enablingLinks(unit: string, install: InstallSection): readonly string[] {
  const below = (kind: string) => (target: string) =>
    posix.join(UNIT_DIRECTORY, `${target}.${kind}`, unit);
  return [
    ...install.wantedBy.map(below('wants')),
    ...install.requiredBy.map(below('requires')),
    ...install.alias
      .filter((alias) => alias !== unit)
      .map((alias) => posix.join(UNIT_DIRECTORY, alias)),
  ];
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

/** Links that enable a unit now, whoever made them: `*.wants`, `*.requires` and aliases. */
export async function presentLinks(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await files.list(UNIT_DIRECTORY)) {
    const path = posix.join(UNIT_DIRECTORY, name);
    const candidate = /\.(wants|requires)$/.test(name) ? posix.join(path, unit) : path;
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
