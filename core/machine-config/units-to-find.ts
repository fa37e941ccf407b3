/** Units that a config enables and that the machine has to bring. */

import { enablingLinks, UNIT_DIRECTORY } from '../systemd';
import { enabledSection } from './admission-install';
import { changedUnits } from './diff';
import type { IgnitionConfig, IgnitionUnit } from './types';

/**
 * New or different enabled units without contents: `systemctl enable` fails when the machine has
 * none of the name. Without units that the previous config enabled, and aliases of other enabled
 * units.
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

function aliasesOf(unit: IgnitionUnit): readonly string[] {
  const install = enabledSection({ ...unit });
  return install === undefined ? [] : enablingLinks(unit.name, install).aliases;
}
