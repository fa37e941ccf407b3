/** The running systemd of this machine, through `systemctl`. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fail } from '../../core/errors';
import type { HostFiles } from './files';
import { createOfflineSystemd, enablementOf, type OfflineSystemd } from './offline-systemd';

const run = promisify(execFile);

/** Restarting a slow service may take this long. */
const TIMEOUT_MS = 300_000;

/**
 * systemd of the machine that this process runs on. Which links an enablement may touch is predicted
 * as offline, so that the journal has their before-images; the change itself is systemd's.
 */
export function createSystemctl(files: HostFiles, command = 'systemctl'): OfflineSystemd {
  const offline = createOfflineSystemd(files);
  const systemctl = async (...words: readonly string[]): Promise<void> => {
    try {
      await run(command, [...words], { timeout: TIMEOUT_MS });
    } catch (error) {
      throw fail('ApplyFailed', `systemctl ${words.join(' ')}: ${lastLine(error)}`);
    }
  };
  return {
    enablementPaths: (changes) => offline.enablementPaths(changes),
    async setEnablement(changes) {
      for (const { unit, wish } of changes) {
        const verb = { enable: 'reenable', disable: 'disable', preset: 'preset' }[wish];
        await systemctl(verb, unit);
      }
    },
    enablement: (unit) => enablementOf(files, unit),
    daemonReload: () => systemctl('daemon-reload'),
    reload: (service) => systemctl('reload', service),
    restart: (service) => systemctl('restart', service),
  };
}

/** What systemctl said last: its errors end with the cause. */
function lastLine(error: unknown): string {
  const stderr =
    typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : '';
  return stderr.trim().split('\n').at(-1) || 'it failed without a message';
}
