/**
 * Enabled units whose links cannot be made, because another entry of the merged config is in their
 * place. Each is valid alone, and systemctl fails with "already exists" or "not a directory" on
 * every machine.
 */

import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { decisiveLinks, enablingProblem, UNIT_DIRECTORY } from '../systemd';
import { enabledSection, INSTALL_FIX, installPlace, unitsOf } from './admission-install';
import type { AdmissionProblem } from './admission-problem';
import { entriesOf, ownedEntries, ownerOf, type Entry } from './merged-entries';
import type { Source } from './source';

interface NeededLink {
  readonly unit: string;
  readonly key: 'Alias' | 'WantedBy' | 'RequiredBy';
  readonly path: string;
}

export function enablingClashes(
  merged: IgnitionObject,
  sources: readonly Source[],
): readonly AdmissionProblem[] {
  const links = unitsOf(merged).flatMap(neededLinks);
  if (links.length === 0) return [];
  const places = placesOf(merged, sources);
  return links.flatMap((link, at) => {
    const obstacle =
      link.key === 'Alias'
        ? aliasObstacle(link, links.slice(0, at), places)
        : wantObstacle(link, places);
    if (obstacle === undefined) return [];
    const { machineConfig, field } = installPlace(link.unit, sources);
    const problem = `systemctl does not enable the unit: ${link.key}= ${obstacle}`;
    return [{ machineConfig, field, problem, fix: INSTALL_FIX }];
  });
}

/** None for a unit that is not enabled, or whose `[Install]` systemctl refuses. */
function neededLinks(unit: IgnitionObject): readonly NeededLink[] {
  const name = wordOf(unit['name']);
  const install = enabledSection(unit);
  if (install === undefined || enablingProblem(name, install) !== undefined) return [];
  const { key, paths } = decisiveLinks(name, install);
  return [...new Set(paths)].map((path) => ({ unit: name, key, path }));
}

/** Entries of the merged config at the places of links. */
interface Places {
  readonly sources: readonly Source[];
  readonly entries: ReadonlyMap<string, Entry>;
  readonly masks: ReadonlySet<string>;
  /** Targets of links, by path. */
  readonly targets: ReadonlyMap<string, string>;
  /** Units that are enabled or disabled, by any config or preset. */
  readonly units: readonly string[];
}

function placesOf(merged: IgnitionObject, sources: readonly Source[]): Places {
  const units = unitsOf(merged);
  const links = listOf(structOf(merged['storage'])['links']);
  return {
    sources,
    entries: new Map(entriesOf(merged).map((entry) => [entry.path, entry])),
    masks: new Set(units.filter(isMasked).map(pathOf)),
    targets: new Map(links.map(({ path, target }) => [wordOf(path), wordOf(target ?? '')])),
    units: units.filter((unit) => !isMasked(unit)).map(({ name }) => wordOf(name)),
  };
}

function aliasObstacle(
  { unit, path }: NeededLink,
  earlier: readonly NeededLink[],
  places: Places,
): string | undefined {
  const entry = places.entries.get(path);
  if (entry !== undefined && entry.kind !== 'link') return `is at ${told(entry, places)}`;
  if (isTakenAway(path, places)) return undefined;
  if (entry !== undefined) return `is at ${told(entry, places)}`;
  if (places.masks.has(path)) {
    return `is at ${path}, which MachineConfig ${maskOwner(path, places.sources)} masks`;
  }
  const other = earlier.find((link) => link.path === path && !isOfOneTemplate(link.unit, unit));
  if (other === undefined) return undefined;
  const { machineConfig } = installPlace(other.unit, places.sources);
  return `is also an alias of ${other.unit}, a unit of MachineConfig ${machineConfig}`;
}

/**
 * Whether a link or mask at a path may be gone when the alias is made, because units are disabled
 * first. A link to the unit itself is the alias already. Aliases with a link elsewhere
 * (`x.target.wants/a.service`) are not judged.
 */
function isTakenAway(path: string, { targets, units }: Places): boolean {
  const names = [path, targets.get(path) ?? ''].map((at) => at.slice(at.lastIndexOf('/') + 1));
  const isOfUnit = units.some((unit) => names.some((name) => isOfOneTemplate(unit, name)));
  return isOfUnit || parentOf(path) !== UNIT_DIRECTORY;
}

/**
 * Why a link of `WantedBy` or `RequiredBy` cannot be made: a link in its place would be replaced.
 */
function wantObstacle({ path }: NeededLink, places: Places): string | undefined {
  const directory = places.entries.get(parentOf(path));
  if (directory?.kind === 'file') return `needs a directory at ${told(directory, places)}`;
  const entry = places.entries.get(path);
  if (entry === undefined || entry.kind === 'link') return undefined;
  return `needs a link at ${told(entry, places)}`;
}

function told(entry: Entry, { sources }: Places): string {
  const owner = ownerOf(entry, sources.flatMap(ownedEntries))?.machineConfig ?? '';
  return `${entry.path}, which is a ${entry.kind} of MachineConfig ${owner}`;
}

function isOfOneTemplate(one: string, other: string): boolean {
  const template = (unit: string): string => unit.replace(/@.*\./s, '@.');
  return template(one) === template(other);
}

function isMasked(unit: IgnitionObject): boolean {
  return unit['mask'] === true;
}

function maskOwner(path: string, sources: readonly Source[]): string {
  const has = (source: Source): boolean =>
    unitsOf(source.ignition()).some((unit) => isMasked(unit) && pathOf(unit) === path);
  return sources.findLast(has)?.name ?? '';
}

function pathOf(unit: IgnitionObject): string {
  return `${UNIT_DIRECTORY}/${wordOf(unit['name'])}`;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
