import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fail } from '../../core/errors';
import type { HostFiles } from './files';
import { filesAfterBoot } from './next-deployment';
import {
  comesToSame,
  createOfflineEnablement,
  enablementOf,
  type HostSystemd,
  type UnitEnablement,
} from './offline-systemd';
import type { EnablementChange } from './unit-enablement';
import { findUnit, linkDirectories, ownLink } from './unit-links';
import { parseUnitState, UNIT_PROPERTIES } from './unit-state';

const run = promisify(execFile);

/** Links of an older `[Install]` section are removed first; `reenable` would overlook drop-ins. */
const VERBS = {
  enable: ['disable', 'enable'],
  disable: ['disable'],
  preset: ['preset'],
} as const;

/** systemd knows a linked unit only by its link: disabling it would remove it. */
export async function verbsFor(
  files: Pick<HostFiles, 'facts'>,
  { unit, wish }: EnablementChange,
): Promise<readonly string[]> {
  return wish === 'enable' && (await ownLink(files, unit)) !== undefined ? [wish] : VERBS[wish];
}

const TIMEOUT_MS = 300_000;

/** Some distributions have it without `coreos-update-ca-trust.service`. */
const TRUST_COMMAND = 'update-ca-trust';

/**
 * systemd makes a change itself. The touched links are predicted as offline, so that the journal
 * has their before-images.
 */
export function createSystemctl(files: HostFiles, command = 'systemctl'): HostSystemd {
  const offline = createOfflineEnablement(files);
  const systemctl = async (...words: readonly string[]): Promise<void> => {
    try {
      await run(command, [...words], { timeout: TIMEOUT_MS });
    } catch (error) {
      const said = words.filter((word) => word !== '--').join(' ');
      throw fail('ApplyFailed', `systemctl ${said}: ${lastLine(error)}`);
    }
  };
  const tell = async (change: EnablementChange): Promise<void> => {
    for (const verb of await verbsFor(files, change)) await systemctl(verb, '--', change.unit);
  };
  const here: UnitEnablement = {
    ...offline,
    async setEnablement(changes) {
      if (changes.length === 0) return;
      for (const change of changes) await tell(change);
      await syncLinks(files);
    },
  };
  return {
    ...here,
    async atBootOf(deployment) {
      const next = await filesAfterBoot(files, deployment);
      return next === undefined ? here : enablementAfterBoot({ files, here, tell }, next);
    },
    daemonReload: () => systemctl('daemon-reload'),
    reload: (service) => systemctl('reload', '--', service),
    restart: (service) => systemctl('restart', '--', service),
    stop: (service) => systemctl('stop', '--', service),
    resetFailed: (service) => systemctl('reset-failed', '--', service),
    async state(unit) {
      const { stdout } = await run(
        command,
        ['show', `--property=${UNIT_PROPERTIES.join(',')}`, '--', unit],
        { timeout: TIMEOUT_MS },
      );
      return parseUnitState(stdout, monotonicMs());
    },
    async updateTrust() {
      try {
        await run(TRUST_COMMAND, [], { timeout: TIMEOUT_MS });
      } catch (error) {
        throw fail('ApplyFailed', `${TRUST_COMMAND}: ${lastLine(error)}`);
      }
    },
  };
}

/**
 * systemd does not sync its links, and `Also` decides which change: all directories are synced.
 */
async function syncLinks(files: HostFiles): Promise<void> {
  await files.syncDirectories(await linkDirectories(files));
}

interface RunningEnablement {
  readonly files: HostFiles;
  readonly here: UnitEnablement;
  /** Does not sync the links. */
  readonly tell: (change: EnablementChange) => Promise<void>;
}

/**
 * systemctl knows only the running system. Changes whose links differ in the next deployment are
 * made by files.
 */
function enablementAfterBoot(
  { files, here, tell }: RunningEnablement,
  next: HostFiles,
): UnitEnablement {
  const there = createOfflineEnablement(next);
  const isForSystemctl = async (change: EnablementChange): Promise<boolean> => {
    if ((await enablementOf(files, change.unit)) === 'absent') return false;
    // Only the running system has the unit.
    const isLeaving = change.wish === 'disable' && !(await findUnit(next, change.unit));
    return isLeaving || comesToSame([files, next], change);
  };
  return {
    ...there,
    // The choice may depend on links of earlier changes.
    async enablementPaths(changes) {
      const paths = [await here.enablementPaths(changes), await there.enablementPaths(changes)];
      return [...new Set(paths.flat())].sort();
    },
    async setEnablement(changes) {
      let isTold = false;
      for (const change of changes) {
        if (await isForSystemctl(change)) {
          isTold = true;
          await tell(change);
        } else await there.setEnablement([change]);
      }
      if (isTold) await syncLinks(files);
    },
  };
}

/** systemd's clock; `performance.now()` starts with the process. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** The last line of systemctl's errors is the cause. */
function lastLine(error: unknown): string {
  const stderr =
    typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : '';
  return stderr.trim().split('\n').at(-1) || 'it failed without a message';
}
