/** Units that systemctl would not enable because of their `[Install]` section. */

import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { enablingProblem, parseInstallSection, type InstallSection } from '../systemd';
import type { AdmissionProblem } from './admission-problem';
import type { Source } from './source';

export const INSTALL_FIX = 'correct the [Install] section, or do not enable the unit';

/**
 * Why an enabled unit cannot be enabled; undefined = it can, or is not enabled. Sections of a
 * distribution's own unit are unknown here.
 */
export function installProblem(unit: IgnitionObject): string | undefined {
  const install = enabledSection(unit);
  return install && enablingProblem(wordOf(unit['name']), install);
}

/**
 * The `[Install]` section of an enabled unit, with its drop-ins; undefined = none, or not enabled.
 */
export function enabledSection(unit: IgnitionObject): InstallSection | undefined {
  const contents = wordOf(unit['contents'] ?? '');
  if (unit['enabled'] !== true || unit['mask'] === true || contents === '') return undefined;
  // systemd reads drop-ins in the order of their names.
  const dropins = listOf(unit['dropins'])
    .map(({ name, contents: text }) => ({ name: wordOf(name), text: wordOf(text ?? '') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  // Each part begins outside of all sections.
  const parts = [contents, ...dropins.map(({ text }) => text)];
  return parseInstallSection(parts.join('\n[]\n'));
}

/**
 * Units with parts from several MachineConfigs: the last one with an `[Install]` section is named.
 */
export function mergedInstallProblems(
  merged: IgnitionObject,
  sources: readonly Source[],
): readonly AdmissionProblem[] {
  return unitsOf(merged).flatMap((unit) => {
    const problem = installProblem(unit);
    if (problem === undefined) return [];
    const { names, ...place } = installPlace(wordOf(unit['name']), sources);
    const text = `systemctl does not enable the unit of MachineConfigs ${names.join(', ')}: ${problem}`;
    return [{ ...place, problem: text, fix: INSTALL_FIX }];
  });
}

/**
 * The MachineConfigs that have a part of a unit, and the last place with an `[Install]` section.
 */
export function installPlace(
  unit: string,
  sources: readonly Source[],
): Pick<AdmissionProblem, 'machineConfig' | 'field'> & { readonly names: readonly string[] } {
  const own = sources.flatMap((source) =>
    unitsOf(source.ignition()).flatMap((part, i) =>
      part['name'] === unit ? [{ machineConfig: source.name, part, i }] : [],
    ),
  );
  const last = own.flatMap(({ machineConfig, part, i }) =>
    installFields(part).map((field) => ({ machineConfig, field: `${fieldOf(i)}${field}` })),
  );
  const place = last.at(-1) ?? { machineConfig: own.at(-1)?.machineConfig ?? '', field: '' };
  return { ...place, names: own.map(({ machineConfig }) => machineConfig) };
}

/** Fields of a unit or its drop-ins that have an `[Install]` section. */
function installFields(unit: IgnitionObject): readonly string[] {
  const has = (text: unknown): boolean => parseInstallSection(wordOf(text ?? '')) !== undefined;
  const dropins = listOf(unit['dropins']).flatMap(({ contents }, d) =>
    has(contents) ? [`.dropins[${d}].contents`] : [],
  );
  return [...(has(unit['contents']) ? ['.contents'] : []), ...dropins];
}

function fieldOf(unit: number): string {
  return `spec.config.systemd.units[${unit}]`;
}

export function unitsOf(config: IgnitionObject | undefined): readonly IgnitionObject[] {
  return listOf(structOf(config?.['systemd'])['units']);
}
