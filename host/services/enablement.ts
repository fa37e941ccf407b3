/** Enablement of units, before and after writing. */

import { isTemplateName, templateOf } from '../../core/systemd';
import type { IgnitionUnit, RenderedSpec } from '../../core/machine-config/types';
import { ownLink, type UnitEnablement } from '../../adapters/host';
import type { EnablementChange, HostPorts, PathChange } from '../ports';
import type { WantedPaths } from '../paths/wanted-paths';

/** Ignition's presets: a line for each unit that the first config enables. */
const IGNITION_PRESETS = '/etc/systemd/system-preset/20-ignition.preset';

type Ports = Pick<HostPorts, 'files' | 'systemd'>;

/**
 * A unit that is removed or rewritten loses the links of its old `[Install]` section while systemd
 * can still read it.
 *
 * @param touched - units of which some file changes
 */
export async function enablementBefore(
  ports: Ports,
  from: RenderedSpec | undefined,
  to: RenderedSpec,
  touched: ReadonlySet<string>,
): Promise<readonly EnablementChange[]> {
  const old = unitsOf(from);
  const desired = unitsOf(to);
  const changed = [...old.values()].filter(
    (unit) => !desired.has(unit.name) || touched.has(unit.name),
  );
  const changes: EnablementChange[] = [];
  for (const { name } of changed) {
    if (await staysLinked(ports, desired.get(name))) continue;
    const now = await ports.systemd.enablement(name);
    // The links of instances come from the template's section.
    if (now === 'enabled' || now === 'indirect') {
      changes.push({ unit: name, wish: 'disable' });
    }
  }
  return changes;
}

/** A linked unit disappears when it is disabled. */
async function staysLinked({ files }: Ports, unit: IgnitionUnit | undefined): Promise<boolean> {
  if (unit === undefined || unit.contents !== undefined) return false;
  return (await ownLink(files, unit.name)) !== undefined;
}

/** Running, and at the next boot; equal when nothing is staged. */
interface UnitsOfBoots {
  readonly now: UnitEnablement;
  readonly next: UnitEnablement;
}

/**
 * After the unit files are written and the deployment is staged: the config's wish for every unit
 * that is new, different, or only in the staged image; the preset for a distribution's unit that
 * the config has dropped. Units that the next boot lacks stay.
 *
 * Presets come first, as in MCO: a disabling preset does not know the enabled unit that names its
 * unit in `Also`. Then come disabled units: an enabled socket stays enabled if its service, which
 * names it in `Also`, is disabled. Each change of a template removes the links of its instances, so
 * these come last.
 */
export async function enablementAfter(
  { now, next }: UnitsOfBoots,
  from: RenderedSpec | undefined,
  to: RenderedSpec,
  touched: ReadonlySet<string>,
): Promise<readonly EnablementChange[]> {
  const old = unitsOf(from);
  const desired = unitsOf(to);
  const presets: EnablementChange[] = [];
  const wishes: EnablementChange[] = [];
  const same: IgnitionUnit[] = [];
  for (const unit of desired.values()) {
    // systemd refuses to enable a masked unit.
    if (unit.mask === true) continue;
    const isSame = !touched.has(unit.name) && old.get(unit.name)?.enabled === unit.enabled;
    if (isSame && old.has(unit.name) && (await wasThere(now, next, unit.name))) {
      same.push(unit);
      continue;
    }
    if ((await next.enablement(unit.name)) === 'absent') continue;
    if (unit.enabled === undefined) presets.push({ unit: unit.name, wish: 'preset' });
    else wishes.push({ unit: unit.name, wish: unit.enabled ? 'enable' : 'disable' });
  }
  for (const { name } of old.values()) {
    if (desired.has(name)) continue;
    if (await next.isVendorUnit(name)) presets.push({ unit: name, wish: 'preset' });
  }
  const disable = wishes.filter(({ wish }) => wish === 'disable');
  const first = wishes.filter(({ wish }) => wish === 'enable');
  const again = await enabledAgain(next, same, { presets, disable, enable: first });
  const enable = templatesFirst([...first, ...again]);
  const brought = await disabledAgain(next, desired, [
    ...(await thatEnable(next, presets)),
    ...enable,
  ]);
  return [...presets, ...disable, ...enable, ...brought];
}

/** In an order in which no change alters the links of units that are right. */
export async function enablementAgain(
  systemd: UnitEnablement,
  spec: RenderedSpec,
  drifted: ReadonlySet<string>,
): Promise<readonly EnablementChange[]> {
  const desired = unitsOf(spec);
  const disable = [...desired.values()]
    .filter(({ name, enabled }) => enabled === false && drifted.has(name))
    .map(({ name }): EnablementChange => ({ unit: name, wish: 'disable' }));
  const taken = await namedBy(systemd, disable);
  const enabled = [...desired.values()]
    .filter((unit) => unit.enabled === true && unit.mask !== true)
    .map(({ name }) => name);
  const lost = new Set(enabled.filter((name) => drifted.has(name) || taken.has(name)));
  const changed = new Set([...disable.map(({ unit }) => unit), ...lost]);
  const enable = templatesFirst(
    enabled
      .filter((name) => lost.has(name) || isInstanceOfOne(name, changed))
      .map((unit) => ({ unit, wish: 'enable' })),
  );
  const brought = await disabledAgain(systemd, desired, enable);
  return [...disable, ...enable, ...brought];
}

/** These enable the units in `Also`, too. */
async function thatEnable(
  next: UnitEnablement,
  presets: readonly EnablementChange[],
): Promise<readonly EnablementChange[]> {
  const verdicts = await Promise.all(presets.map(({ unit }) => next.presetEnables(unit)));
  return presets.filter((_, index) => verdicts[index]);
}

async function namedBy(
  systemd: UnitEnablement,
  changes: readonly EnablementChange[],
): Promise<ReadonlySet<string>> {
  return new Set((await Promise.all(changes.map(({ unit }) => systemd.also(unit)))).flat());
}

/** Units to disable that `Also` of others enables. */
async function disabledAgain(
  next: UnitEnablement,
  desired: ReadonlyMap<string, IgnitionUnit>,
  enable: readonly EnablementChange[],
): Promise<readonly EnablementChange[]> {
  const brought = await namedBy(next, enable);
  return [...brought]
    .filter((name) => desired.get(name)?.enabled === false && desired.get(name)?.mask !== true)
    .map((unit) => ({ unit, wish: 'disable' }));
}

/** They lose links when a unit that names them in `Also` is disabled. */
async function enabledAgain(
  next: UnitEnablement,
  same: readonly IgnitionUnit[],
  {
    presets,
    disable,
    enable,
  }: Readonly<Record<'presets' | 'disable' | 'enable', readonly EnablementChange[]>>,
): Promise<readonly EnablementChange[]> {
  const preset = new Set(presets.map(({ unit }) => unit));
  const changed = new Set([...presets, ...disable, ...enable].map(({ unit }) => unit));
  const taken = await namedBy(next, disable);
  const changes: EnablementChange[] = [];
  for (const { name, enabled } of same) {
    if (enabled !== true) continue;
    const isTaken = taken.has(name) || isInstanceOfOne(name, changed);
    const isLost = isTaken || (await next.enablement(name)) === 'disabled';
    const asksForOne = isLost || (await next.also(name)).some((also) => preset.has(also));
    if (asksForOne) changes.push({ unit: name, wish: 'enable' });
  }
  return changes;
}

/** Disabling a template removes the links of its instances. */
function isInstanceOfOne(unit: string, templates: ReadonlySet<string>): boolean {
  const template = templateOf(unit);
  return template !== undefined && templates.has(template);
}

function templatesFirst(changes: readonly EnablementChange[]): readonly EnablementChange[] {
  const isOfTemplate = ({ unit }: EnablementChange): boolean => isTemplateName(unit);
  return [...changes.filter(isOfTemplate), ...changes.filter((one) => !isOfTemplate(one))];
}

/** A config may name a unit long before an image brings it. */
async function wasThere(now: UnitEnablement, next: UnitEnablement, unit: string): Promise<boolean> {
  return now === next || (await now.enablement(unit)) !== 'absent';
}

/**
 * With the first update: they would enable their units for ever.
 *
 * @see MCO pkg/daemon/daemon.go (7ff337a4), which does it at every start
 */
export async function withoutIgnitionPresets(
  { files }: Pick<Ports, 'files'>,
  wanted: WantedPaths,
): Promise<readonly PathChange[]> {
  if (wanted.has(IGNITION_PRESETS)) return [];
  const { kind } = await files.facts(IGNITION_PRESETS);
  return kind === 'file' ? [{ path: IGNITION_PRESETS, state: { kind: 'absent' } }] : [];
}

function unitsOf(spec: RenderedSpec | undefined): ReadonlyMap<string, IgnitionUnit> {
  return new Map((spec?.config.systemd?.units ?? []).map((unit) => [unit.name, unit]));
}
