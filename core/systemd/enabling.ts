import {
  aliasesOf,
  aliasFor,
  decisiveLinks,
  expandedNames,
  isDependency,
  linkedUnit,
} from './enabling-links';
import type { InstallSection } from './install-section';
import { instanceOf, isPlainName, isTemplateName, isUnitName, unitType } from './unit-name';

const NO_UNIT = 'has a name that systemd takes for no unit';

/**
 * Why systemctl does not enable a unit with this section, without quoting it; undefined = it does.
 * Names that depend on the machine are not judged.
 *
 * One kind of link that can be made is enough for systemctl, in the order of aliases, `WantedBy`
 * and `RequiredBy`: errors in a later kind are ignored.
 *
 * @see systemd src/shared/install.c, install_info_apply
 */
export function enablingProblem(unit: string, install: InstallSection): string | undefined {
  const expanded = (names: readonly string[]): readonly string[] =>
    expandedNames(names, unit, install);
  if (!expanded(install.also).every(isUnitName)) return `Also= ${NO_UNIT}`;
  const linked = linkedUnit(unit, install);
  if (linked !== undefined && linked !== unit && !isUnitName(linked)) {
    return 'DefaultInstance= has what no unit can have in its name';
  }
  const aliases = expanded(aliasesOf(unit, install));
  if (!aliases.every((alias) => mayBeAlias(alias, unit))) {
    return 'Alias= has a name that this unit cannot have, of another type or instance, or only one of the two with an @';
  }
  const { key } = decisiveLinks(unit, install);
  if (key === 'Alias') return undefined;
  const judged = expanded(key === 'WantedBy' ? install.wantedBy : install.requiredBy);
  if (!judged.every(isUnitName)) return `${key}= ${NO_UNIT}`;
  const isTemplate = linked !== undefined && isTemplateName(linked);
  return isTemplate && judged.some(isPlainName)
    ? `${key}= has a unit that cannot want a template without DefaultInstance=`
    : undefined;
}

function mayBeAlias(alias: string, unit: string): boolean {
  if (isDependency(alias, unit)) return true;
  return (
    isUnitName(alias) &&
    unitType(alias) === unitType(unit) &&
    isPlainName(alias) === isPlainName(unit) &&
    (isTemplateName(unit) || instanceOf(aliasFor(alias, unit)) === instanceOf(unit))
  );
}
