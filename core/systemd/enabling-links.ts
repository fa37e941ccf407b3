/** The links with which `systemctl enable` enables a unit, from its `[Install]` section. */

import type { InstallSection } from './install-section';
import { expandSpecifiers } from './specifiers';
import { instanceOf, isPlainName, isTemplateName, isUnitName, unitType } from './unit-name';

/** Units of the machine's owner. */
export const UNIT_DIRECTORY = '/etc/systemd/system';

/** For other units systemd ignores `Alias`. */
const MAY_HAVE_ALIASES: ReadonlySet<string> = new Set(
  'service socket target device timer path'.split(' '),
);

/** Paths of links, by the key that asks for them. */
interface EnablingLinks {
  readonly aliases: readonly string[];
  readonly wants: readonly string[];
  readonly requires: readonly string[];
  readonly upholds: readonly string[];
}

/**
 * Links that enable a unit, without those that depend on the machine. A template stands for its
 * default instance; without one, only another template or an instance can want it.
 */
export function enablingLinks(unit: string, install: InstallSection): EnablingLinks {
  const linked = linkedUnit(unit, install) ?? unit;
  const below = (names: readonly string[], kind: string): readonly string[] =>
    expandedNames(names, unit, install)
      .filter((name) => isUnitName(name) && (!isTemplateName(linked) || !isPlainName(name)))
      .map((name) => `${UNIT_DIRECTORY}/${name}.${kind}/${linked}`);
  return {
    aliases: expandedNames(aliasesOf(unit, install), unit, install)
      .map((alias) => aliasFor(alias, unit))
      .filter((alias) => isUnitName(alias) || isDependency(alias, unit))
      .filter((alias) => alias !== unit)
      .map((alias) => `${UNIT_DIRECTORY}/${alias}`),
    wants: below(install.wantedBy, 'wants'),
    requires: below(install.requiredBy, 'requires'),
    upholds: below(install.upheldBy, 'upholds'),
  };
}

/** The links that decide whether systemctl enables a unit, and their key. */
interface DecisiveLinks {
  readonly key: 'Alias' | 'WantedBy' | 'RequiredBy';
  readonly paths: readonly string[];
}

/**
 * The aliases of a unit decide, if it has any: all of them must exist, and errors in other keys are
 * ignored. Otherwise `WantedBy` decides, or `RequiredBy` without it.
 */
export function decisiveLinks(unit: string, install: InstallSection): DecisiveLinks {
  const { aliases, wants, requires } = enablingLinks(unit, install);
  const own = expandedNames(aliasesOf(unit, install), unit, install);
  const isOther = (alias: string): boolean => aliasFor(alias, unit) !== unit;
  if (own.length < aliasesOf(unit, install).length || own.some(isOther)) {
    return { key: 'Alias', paths: aliases };
  }
  return install.wantedBy.length > 0
    ? { key: 'WantedBy', paths: wants }
    : { key: 'RequiredBy', paths: requires };
}

/**
 * The name in a unit's links: the unit, or its default instance; undefined when the machine
 * decides.
 */
export function linkedUnit(unit: string, { defaultInstance }: InstallSection): string | undefined {
  if (defaultInstance === undefined || !isTemplateName(unit)) return unit;
  const instance = expandSpecifiers(defaultInstance, unit);
  if (instance === undefined || instance === '') return instance === '' ? unit : undefined;
  return unit.replace('@.', () => `@${instance}.`);
}

/** Names with expanded specifiers, without those that depend on the machine. */
export function expandedNames(
  names: readonly string[],
  unit: string,
  install: InstallSection,
): readonly string[] {
  const linked = linkedUnit(unit, install);
  return names
    .map((name) =>
      linked === undefined && name.includes('%')
        ? undefined
        : expandSpecifiers(name, linked ?? unit),
    )
    .filter((name) => name !== undefined);
}

export function aliasesOf(unit: string, { alias }: InstallSection): readonly string[] {
  return MAY_HAVE_ALIASES.has(unitType(unit)) ? alias : [];
}

/**
 * An alias such as `x.target.wants/a.service`, which systemd still accepts: another unit wants this
 * one.
 */
export function isDependency(alias: string, unit: string): boolean {
  const [, wanting = '', wanted = ''] = /^(.*)\.(?:wants|requires)\/(.*)$/s.exec(alias) ?? [];
  if (!isUnitName(wanting) || !isUnitName(wanted)) return false;
  return wanted === unit || (!isPlainName(wanted) && !isPlainName(unit));
}

/**
 * The alias of an instance is an instance, too; that of a template is one also when it has a
 * default.
 */
export function aliasFor(alias: string, unit: string): string {
  const instance = instanceOf(unit) ?? '';
  return isUnitName(alias) && isTemplateName(alias)
    ? alias.replace('@.', () => `@${instance}.`)
    : alias;
}
