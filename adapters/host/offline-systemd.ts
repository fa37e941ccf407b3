/**
 * Enables units by writing links, as `systemctl enable --root` does. Actions on running services go
 * to `onServiceAction`.
 */

import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fail } from '../../core/errors';
import {
  enablingProblem,
  isUnitName,
  linkedUnit,
  parseInstallSection,
  templateOf,
  UNIT_DIRECTORY,
  type InstallSection,
} from '../../core/systemd';
import type { HostFiles } from './files';
import { filesAfterBoot } from './next-deployment';
import type { Enablement, EnablementChange } from './unit-enablement';
import type { UnitState } from './unit-state';
import {
  enablingPaths,
  findUnit,
  hasOwnLinks,
  ownLink,
  presentLinks,
  presetEnables,
} from './unit-links';

export interface ServiceAction {
  readonly action: 'daemon-reload' | 'reload' | 'restart' | 'stop' | 'update-ca-trust';
  readonly service?: string;
}

export interface UnitEnablement {
  enablementPaths(changes: readonly EnablementChange[]): Promise<readonly string[]>;
  /** Of two changes of one link the later counts. The links are durable afterwards. */
  setEnablement(changes: readonly EnablementChange[]): Promise<void>;
  enablement(unit: string): Promise<Enablement>;
  /** `Also` enables and disables them with this one. */
  also(unit: string): Promise<readonly string[]>;
  presetEnables(unit: string): Promise<boolean>;
  isVendorUnit(unit: string): Promise<boolean>;
}

/** Whether or not the host's systemd runs. */
export interface HostSystemd extends UnitEnablement {
  /**
   * Units or `[Install]` sections of a staged deployment may differ. Without its tree: as running.
   */
  atBootOf(deployment: string): Promise<UnitEnablement>;
  daemonReload(): Promise<void>;
  reload(service: string): Promise<void>;
  restart(service: string): Promise<void>;
  stop(service: string): Promise<void>;
  /** For a service that has failed too often; absent: failures are not counted. */
  resetFailed?(service: string): Promise<void>;
  /** Undefined where no systemd runs. */
  state(unit: string): Promise<UnitState | undefined>;
  /** The certificates below `/etc/pki/ca-trust`, without a unit. */
  updateTrust(): Promise<void>;
}

const VENDOR_UNIT_DIRECTORY = '/usr/lib/systemd/system';

const DIRECTORY_ATTRIBUTES = { mode: 0o755, owner: { uid: 0, gid: 0 } } as const;

/** For a host that does not run. */
export function createOfflineSystemd(
  files: HostFiles,
  onServiceAction: (action: ServiceAction) => void = () => undefined,
): HostSystemd {
  const here = createOfflineEnablement(files);
  return {
    ...here,
    async atBootOf(deployment) {
      const next = await filesAfterBoot(files, deployment);
      return next === undefined ? here : createOfflineEnablement(next);
    },
    daemonReload: async () => onServiceAction({ action: 'daemon-reload' }),
    reload: async (service) => onServiceAction({ action: 'reload', service }),
    restart: async (service) => onServiceAction({ action: 'restart', service }),
    stop: async (service) => onServiceAction({ action: 'stop', service }),
    state: async () => undefined,
    updateTrust: async () => onServiceAction({ action: 'update-ca-trust' }),
  };
}

export function createOfflineEnablement(files: HostFiles): UnitEnablement {
  return {
    async enablementPaths(changes) {
      const planned = await Promise.all(changes.map((change) => planChange(files, change)));
      // A directory is removed with its last link.
      const paths = planned
        .flat()
        .flatMap(({ make, remove }) => [
          ...make.keys(),
          ...remove.flatMap((path) => [...directoryOf(path), path]),
        ]);
      return [...new Set(paths)].sort();
    },
    async setEnablement(changes) {
      for (const change of changes) await refuseImpossible(files, change);
      const all = await Promise.all(changes.map((change) => withAlso(files, change)));
      for (const change of all.flat()) {
        const { make, remove } = await planLinks(files, change);
        for (const path of remove) {
          await files.remove(path);
          for (const directory of directoryOf(path)) await files.removeDirectory(directory);
        }
        for (const [path, target] of make) {
          await files.makeDirectory(posix.dirname(path), DIRECTORY_ATTRIBUTES);
          await files.writeLink(path, target);
        }
      }
    },
    enablement: (unit) => enablementOf(files, unit),
    also: async (unit) => (await togetherWith(files, unit)).filter((name) => name !== unit),
    presetEnables: (unit) => presetEnables(files, unit),
    isVendorUnit: async (unit) =>
      (await files.facts(posix.join(VENDOR_UNIT_DIRECTORY, unit))).kind === 'file',
  };
}

/** A change makes the same links by either set of files. */
export async function comesToSame(
  [one, other]: readonly [HostFiles, HostFiles],
  change: EnablementChange,
): Promise<boolean> {
  const [here, there] = [await planChange(one, change), await planChange(other, change)];
  return isDeepStrictEqual(here, there);
}

/** @throws `ApplyFailed` for a unit that systemctl would not enable */
async function refuseImpossible(files: HostFiles, { unit, wish }: EnablementChange): Promise<void> {
  if (wish !== 'enable') return;
  const found = await findUnit(files, unit);
  const install = found && parseInstallSection(found.contents);
  const problem = isUnitName(unit)
    ? install && enablingProblem(unit, install)
    : 'systemd takes the name for no unit';
  if (problem !== undefined) throw fail('ApplyFailed', `enable ${unit}: ${problem}`, { unit });
}

async function planChange(
  files: HostFiles,
  change: EnablementChange,
): Promise<readonly PlannedLinks[]> {
  const all = await withAlso(files, change);
  return Promise.all(all.map((one) => planLinks(files, one)));
}

/** As `systemctl is-enabled`: any link counts. */
export async function enablementOf(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<Enablement> {
  const own = await files.look(posix.join(UNIT_DIRECTORY, unit));
  if (own.kind === 'symlink' && own.target === '/dev/null') return 'masked';
  const links = await presentLinks(files, unit);
  const found = await findUnit(files, unit);
  const install = found && parseInstallSection(found.contents);
  if (links.some((link) => standsFor(link, unit, install))) return 'enabled';
  if (links.length > 0) return 'indirect';
  if (found === undefined) return 'absent';
  return install === undefined || !hasOwnLinks(install) ? 'static' : 'disabled';
}

/**
 * Of a template's instances only the default one counts.
 *
 * @see systemd src/shared/install.c, is_symlink_with_known_name
 */
function standsFor(link: string, unit: string, install: InstallSection | undefined): boolean {
  const name = posix.basename(link);
  if (templateOf(name) !== unit) return true;
  const linked = install === undefined ? unit : linkedUnit(unit, install);
  // Without a unit file, the name in the link decides.
  return linked === undefined || name === linked;
}

function directoryOf(link: string): readonly string[] {
  const directory = posix.dirname(link);
  return directory === UNIT_DIRECTORY ? [] : [directory];
}

interface LinkWish {
  readonly unit: string;
  readonly wish: 'enable' | 'add' | 'disable';
}

interface PlannedLinks {
  readonly make: ReadonlyMap<string, string>;
  readonly remove: readonly string[];
}

async function withAlso(files: HostFiles, change: EnablementChange): Promise<readonly LinkWish[]> {
  const enable =
    change.wish === 'enable' ||
    (change.wish === 'preset' && (await presetEnables(files, change.unit)));
  // A preset that enables a unit keeps its links.
  const wish = !enable ? 'disable' : change.wish === 'preset' ? 'add' : 'enable';
  // A preset that disables a unit does not concern others.
  if (change.wish === 'preset' && !enable) return [{ unit: change.unit, wish }];
  return (await togetherWith(files, change.unit)).map((unit) => ({ unit, wish }));
}

async function togetherWith(files: HostFiles, unit: string): Promise<readonly string[]> {
  const units = new Set([unit]);
  // Names that are added meanwhile are reached, too.
  for (const name of units) {
    const found = await findUnit(files, name);
    const install = found === undefined ? undefined : parseInstallSection(found.contents);
    for (const also of install?.also ?? []) units.add(also);
  }
  return [...units];
}

/** Removes links of an older `[Install]` section. */
async function planLinks(files: HostFiles, change: LinkWish): Promise<PlannedLinks> {
  const present = await presentLinks(files, change.unit);
  const found = await findUnit(files, change.unit);
  const install = found === undefined ? undefined : parseInstallSection(found.contents);
  const wanted =
    change.wish !== 'disable' && install !== undefined && found !== undefined
      ? new Map(enablingPaths(change.unit, install).map((path) => [path, found.path]))
      : new Map<string, string>();
  const own = await ownLink(files, change.unit);
  const isAdded = change.wish === 'add' || (change.wish === 'enable' && own !== undefined);
  const stale = isAdded ? [] : present.filter((path) => !wanted.has(path));
  if (change.wish === 'disable' && own !== undefined) stale.push(own);
  return { make: wanted, remove: stale };
}
