/** What systemctl refuses to enable. */

import type { InstallSection } from './install-section';
import { isPlainName, isTemplateName, isUnitName, unitType } from './unit-name';

/** Of other units systemd does not read `Alias`. */
const MAY_HAVE_ALIASES: ReadonlySet<string> = new Set(
  'service socket target device timer path'.split(' '),
);

const NO_UNIT = 'has a name that systemd takes for no unit';

/**
 * Why systemctl does not enable a unit with this section, in words that quote nothing of it; undefined
 * when it does. Names with specifiers are not judged: what they become may depend on the machine.
 *
 * One kind of link that could be made is enough for systemctl, in the order of aliases, `WantedBy` and
 * `RequiredBy`: what is wrong in a later one is passed over.
 *
 * @see systemd src/shared/install.c, install_info_apply
 */
export function enablingProblem(unit: string, install: InstallSection): string | undefined {
  const { also, wantedBy, requiredBy } = install;
  if (also.some((name) => isJudged(name) && !isUnitName(name))) return `Also= ${NO_UNIT}`;
  const instance = instanceProblem(unit, install);
  if (instance !== undefined) return instance;
  const aliases = MAY_HAVE_ALIASES.has(unitType(unit)) ? install.alias : [];
  if (aliases.some((alias) => isJudged(alias) && !mayBeAlias(alias, unit))) {
    return 'Alias= has a name that this unit cannot have, of another type, or only one of the two with an @';
  }
  if (aliases.some((alias) => alias !== unit)) return undefined;
  const [key, wanting] = wantedBy.length > 0 ? ['WantedBy', wantedBy] : ['RequiredBy', requiredBy];
  const judged = wanting.filter(isJudged);
  if (!judged.every(isUnitName)) return `${key}= ${NO_UNIT}`;
  const isTemplate = isTemplateName(unit) && install.defaultInstance === undefined;
  return isTemplate && judged.some(isPlainName)
    ? `${key}= has a unit that cannot want a template without DefaultInstance=`
    : undefined;
}

function isJudged(name: string): boolean {
  return !name.includes('%');
}

function mayBeAlias(alias: string, unit: string): boolean {
  return (
    isUnitName(alias) &&
    unitType(alias) === unitType(unit) &&
    isPlainName(alias) === isPlainName(unit)
  );
}

function instanceProblem(unit: string, { defaultInstance }: InstallSection): string | undefined {
  if (defaultInstance === undefined || !isTemplateName(unit) || !isJudged(defaultInstance)) {
    return undefined;
  }
  if (isUnitName(unit.replace('@.', `@${defaultInstance}.`))) return undefined;
  return 'DefaultInstance= has what no unit can have in its name';
}
