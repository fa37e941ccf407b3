/** The paths of a merged config, and the MachineConfig that brings each. */

import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { UNIT_DIRECTORY } from '../systemd';
import type { Source } from './source';

/** One path, and its place in the config. */
export interface Entry {
  readonly kind: 'file' | 'directory' | 'link' | 'unit';
  readonly path: string;
  readonly field: string;
}

export interface OwnedEntry extends Entry {
  readonly machineConfig: string;
}

/**
 * All entries; of a unit its file and its drop-ins, if they have contents: an empty one is not
 * written.
 */
export function entriesOf(config: IgnitionObject): readonly Entry[] {
  const storage = structOf(config['storage']);
  const nodes = (
    [
      ['files', 'file'],
      ['directories', 'directory'],
      ['links', 'link'],
    ] as const
  ).flatMap(([section, kind]) =>
    listOf(storage[section]).map((node, i): Entry => {
      const field = `spec.config.storage.${section}[${i}]`;
      return { kind, path: wordOf(node['path']), field };
    }),
  );
  return [...nodes, ...listOf(structOf(config['systemd'])['units']).flatMap(unitEntries)];
}

function unitEntries(unit: IgnitionObject, index: number): readonly Entry[] {
  const field = `spec.config.systemd.units[${index}]`;
  const path = `${UNIT_DIRECTORY}/${wordOf(unit['name'])}`;
  const own: Entry = { kind: 'unit', path, field };
  const dropins = listOf(unit['dropins']).flatMap((dropin, d): readonly Entry[] => {
    if (wordOf(dropin['contents']) === '') return [];
    const at = `${path}.d/${wordOf(dropin['name'])}`;
    return [{ kind: 'unit', path: at, field: `${field}.dropins[${d}]` }];
  });
  return wordOf(unit['contents']) === '' ? dropins : [own, ...dropins];
}

export function ownedEntries(source: Source): readonly OwnedEntry[] {
  const entries = entriesOf(source.ignition() ?? {});
  return entries.map((entry) => ({ ...entry, machineConfig: source.name }));
}

/** The last MachineConfig that brings the entry; it replaces all earlier ones. */
export function ownerOf(entry: Entry, owned: readonly OwnedEntry[]): OwnedEntry | undefined {
  return owned.findLast(({ kind, path }) => kind === entry.kind && path === entry.path);
}
