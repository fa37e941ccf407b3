/**
 * Enablement of units by writing their links below the root, as `systemctl enable --root` does; no
 * running systemd is asked. What would happen to running services is handed to `onServiceAction`.
 */

import { posix } from 'node:path';
import type { HostFiles } from './files';
import type { Enablement, EnablementChange } from './types';
import {
  enablingLinks,
  findUnit,
  hasOwnLinks,
  parseInstallSection,
  presentLinks,
  presetEnables,
  UNIT_DIRECTORY,
} from './unit-links';

export interface ServiceAction {
  readonly action: 'daemon-reload' | 'reload' | 'restart';
  readonly service?: string;
}

export interface OfflineSystemd {
  enablementPaths(changes: readonly EnablementChange[]): Promise<readonly string[]>;
  setEnablement(changes: readonly EnablementChange[]): Promise<void>;
  enablement(unit: string): Promise<Enablement>;
  daemonReload(): Promise<void>;
  reload(service: string): Promise<void>;
  restart(service: string): Promise<void>;
}

const DIRECTORY_ATTRIBUTES = { mode: 0o755, owner: { uid: 0, gid: 0 } } as const;

/** systemd of a host that does not run; `onServiceAction` learns what it would have done. */
export function createOfflineSystemd(
  files: HostFiles,
  onServiceAction: (action: ServiceAction) => void = () => undefined,
): OfflineSystemd {
  return {
    async enablementPaths(changes) {
      const all = await Promise.all(changes.map((change) => withAlso(files, change)));
      const planned = await Promise.all(all.flat().map((change) => planLinks(files, change)));
      return [
        ...new Set(planned.flatMap(({ make, remove }) => [...make.keys(), ...remove])),
      ].sort();
    },
    async setEnablement(changes) {
      const all = await Promise.all(changes.map((change) => withAlso(files, change)));
      for (const change of all.flat()) {
        const { make, remove } = await planLinks(files, change);
        for (const path of remove) await files.remove(path);
        for (const [path, target] of make) {
          await files.makeDirectory(posix.dirname(path), DIRECTORY_ATTRIBUTES);
          await files.writeLink(path, target);
        }
      }
    },
    enablement: (unit) => enablementOf(files, unit),
    daemonReload: async () => onServiceAction({ action: 'daemon-reload' }),
    reload: async (service) => onServiceAction({ action: 'reload', service }),
    restart: async (service) => onServiceAction({ action: 'restart', service }),
  };
}

/** As `systemctl is-enabled`: any link counts, whoever made it. */
export async function enablementOf(
  files: Pick<HostFiles, 'look' | 'list'>,
  unit: string,
): Promise<Enablement> {
  const own = await files.look(posix.join(UNIT_DIRECTORY, unit));
  if (own.kind === 'symlink' && own.target === '/dev/null') return 'masked';
  if ((await presentLinks(files, unit)).length > 0) return 'enabled';
  const found = await findUnit(files, unit);
  if (found === undefined) return 'absent';
  const install = parseInstallSection(found.contents);
  return install === undefined || !hasOwnLinks(install) ? 'static' : 'disabled';
}

interface PlannedLinks {
  /** Link path → target. */
  readonly make: ReadonlyMap<string, string>;
  readonly remove: readonly string[];
}

/** The change, and the same for every unit that `Also` brings in, each once. */
async function withAlso(
  files: HostFiles,
  change: EnablementChange,
): Promise<readonly EnablementChange[]> {
  const enable =
    change.wish === 'enable' ||
    (change.wish === 'preset' && (await presetEnables(files, change.unit)));
  const wish = enable ? 'enable' : 'disable';
  const units = new Set([change.unit]);
  // A set is walked to its end, also to what is added on the way.
  for (const unit of units) {
    const found = await findUnit(files, unit);
    const install = found === undefined ? undefined : parseInstallSection(found.contents);
    for (const also of install?.also ?? []) units.add(also);
  }
  return [...units].map((unit) => ({ unit, wish }));
}

/** Links of an older `[Install]` section go also when the unit stays enabled. */
async function planLinks(files: HostFiles, change: EnablementChange): Promise<PlannedLinks> {
  const present = await presentLinks(files, change.unit);
  const found = await findUnit(files, change.unit);
  const install = found === undefined ? undefined : parseInstallSection(found.contents);
  const wanted =
    change.wish === 'enable' && install !== undefined && found !== undefined
      ? new Map(enablingLinks(change.unit, install).map((path) => [path, found.path]))
      : new Map<string, string>();
  return { make: wanted, remove: present.filter((path) => !wanted.has(path)) };
}
