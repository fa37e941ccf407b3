/**
 * Enables units by writing links below the root, as `systemctl enable --root` does, without a
 * running systemd. Actions on running services go to `onServiceAction`.
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

/** Which units a boot starts: links below `/etc`, and the unit files. */
export interface UnitEnablement {
  enablementPaths(changes: readonly EnablementChange[]): Promise<readonly string[]>;
  /**
   * Makes the changes in order: of two changes of one link the later counts. The links are durable
   * afterwards.
   */
  setEnablement(changes: readonly EnablementChange[]): Promise<void>;
  enablement(unit: string): Promise<Enablement>;
  /** The units that `Also` enables and disables together with this one. */
  also(unit: string): Promise<readonly string[]>;
  presetEnables(unit: string): Promise<boolean>;
  isVendorUnit(unit: string): Promise<boolean>;
}

/** The units of a host, whether or not its systemd runs. */
export interface HostSystemd extends UnitEnablement {
  /**
   * The same for the boot of a staged deployment, whose units or `[Install]` sections may differ.
   * Without its tree: for the running one.
   */
  atBootOf(deployment: string): Promise<UnitEnablement>;
  daemonReload(): Promise<void>;
  reload(service: string): Promise<void>;
  restart(service: string): Promise<void>;
  stop(service: string): Promise<void>;
  /** Lets a service start that has failed too often; absent: failures are not counted. */
  resetFailed?(service: string): Promise<void>;
  /** The state of the unit; undefined where no systemd runs. */
  state(unit: string): Promise<UnitState | undefined>;
  /** Trusts the certificates below `/etc/pki/ca-trust`, without a unit. */
  updateTrust(): Promise<void>;
}

const VENDOR_UNIT_DIRECTORY = '/usr/lib/systemd/system';

const DIRECTORY_ATTRIBUTES = { mode: 0o755, owner: { uid: 0, gid: 0 } } as const;

/** systemd of a host that does not run; `onServiceAction` receives each action. */
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

/** Whether a change makes the same links by either set of files. */
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
 * Whether a link enables its unit: of a template's instances only the default one does.
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

/** The change for its unit and for each unit of `Also`. */
async function withAlso(files: HostFiles, change: EnablementChange): Promise<readonly LinkWish[]> {
  const enable =
    change.wish === 'enable' ||
    (change.wish === 'preset' && (await presetEnables(files, change.unit)));
  // A preset that enables a unit keeps its other links.
  const wish = !enable ? 'disable' : change.wish === 'preset' ? 'add' : 'enable';
  // A preset that disables a unit does not concern others.
  if (change.wish === 'preset' && !enable) return [{ unit: change.unit, wish }];
  return (await togetherWith(files, change.unit)).map((unit) => ({ unit, wish }));
}

async function togetherWith(files: HostFiles, unit: string): Promise<readonly string[]> {
  const units = new Set([unit]);
  // The loop also reaches the names that are added to the set meanwhile.
  for (const name of units) {
    const found = await findUnit(files, name);
    const install = found === undefined ? undefined : parseInstallSection(found.contents);
    for (const also of install?.also ?? []) units.add(also);
  }
  return [...units];
}

/** Links of an older `[Install]` section are removed even if the unit stays enabled. */
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
