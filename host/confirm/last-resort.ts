/**
 * Rolls back a machine whose worker cannot start after the reboot of an update: the update may have
 * removed its settings.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../core/errors';
import { type ConfirmAfterReboot, confirmAfterReboot, goBackAndReboot } from './after-reboot';
import type { Host } from '../host';
import type { Log } from '../log';

/** The setting is unreadable. */
const RECONNECT_SECONDS = 600;
const LOOK_MS = 5_000;

interface LastResort {
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Tells systemd that the process waits. */
  readonly onWaiting?: () => Promise<void>;
  readonly confirm?: (host: Host) => Promise<ConfirmAfterReboot>;
  readonly lookMs?: number;
}

/**
 * If the settings are unusable and an update waits for confirmation in this boot, reads them
 * repeatedly until they are usable, or the machine rolls back.
 *
 * @param findHost - this machine without settings; undefined = not known
 * @returns undefined = the machine rolled back, or the signal aborted
 * @throws the error of `read` when no update waits for confirmation
 */
export async function settingsOrBack<Settings>(
  read: () => Settings,
  findHost: () => Promise<Host | undefined>,
  resort: LastResort,
): Promise<Settings | undefined> {
  try {
    return read();
  } catch (error) {
    const { log } = resort;
    const host = await findHost();
    const confirm =
      resort.confirm ?? ((bare: Host) => confirmAfterReboot(bare, RECONNECT_SECONDS, log));
    const awaited = host === undefined ? undefined : await confirm(host);
    if (host === undefined || awaited?.isAwaited() !== true) throw error;
    const { deadline } = awaited;
    log.error({ node: host.node, reason: messageOf(error) }, 'settings cannot be used');
    await resort.onWaiting?.();
    return untilReadable(read, host, { ...resort, deadline });
  }
}

async function untilReadable<Settings>(
  read: () => Settings,
  host: Host,
  { signal, deadline, log, lookMs = LOOK_MS }: LastResort & { readonly deadline: AbortSignal },
): Promise<Settings | undefined> {
  const either = AbortSignal.any([signal, deadline]);
  while (!either.aborted) {
    await delay(lookMs, undefined, { signal: either }).catch(() => undefined);
    try {
      return read();
    } catch (error) {
      log.debug({ reason: messageOf(error) }, 'settings still cannot be used');
    }
  }
  if (!signal.aborted) await goBackAndReboot(host, signal, log);
  return undefined;
}
