/** Units that a config wants enabled, and counts on the machine for. */

import { enablingLinks, UNIT_DIRECTORY } from '../systemd';
import { enabledSection } from './admission-install';
import { changedUnits } from './diff';
import type { IgnitionConfig, IgnitionUnit } from './types';

/**
 * Units that are new or different, to be enabled, and without contents here: `systemctl enable` fails where there
 * is none of that name. Not those that the config before had the same, nor aliases that another enabled unit of
 * the config gets.
 *
 * @param before - absent = the machine had no config
 */
export function unitsToFind(
  before: IgnitionConfig | undefined,
  desired: IgnitionConfig,
): readonly string[] {
  const units = desired.systemd?.units ?? [];
  const { added, updated } = changedUnits(before ?? { ignition: desired.ignition }, desired);
  const changed = new Set([...added, ...updated]);
  const aliases = new Set(units.flatMap(aliasesOf));
  return units
    .filter(
      ({ enabled, mask, contents = '' }) => enabled === true && mask !== true && contents === '',
    )
    .map(({ name }) => name)
    .filter((name) => changed.has(name) && !aliases.has(`${UNIT_DIRECTORY}/${name}`));
}

/** Paths of the links by which an enabled unit has other names. */
function aliasesOf(unit: IgnitionUnit): readonly string[] {
  const install = enabledSection({ ...unit });
  return install === undefined ? [] : enablingLinks(unit.name, install).aliases;
}
