/**
 * Rolls back a machine whose worker cannot start after the reboot of an update: the update may have
 * removed its settings or a file that they name.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { createExclusive } from '../../activities/host';
import { messageOf } from '../../core/errors';
import { type Confirmation, confirmation, goBackByItself } from './after-reboot';
import type { Host } from '../../workers/host/loop';
import { createMachinePorts } from '../../workers/host/machine-ports';
import { rebootMachine } from '../../workers/host/reboot';
import { type HostWorkerOptions, readMachineSettings } from '../../workers/host/settings';
import type { Logger } from '../../process/logging';

/** The default for orders without a number, because the setting is unreadable. */
const RECONNECT_SECONDS = 600;
const LOOK_MS = 5_000;
/** Replaces an unusable settings file. */
const NO_FILE = '/dev/null';

type Environment = Readonly<Record<string, string | undefined>>;

export interface LastResort {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Tells systemd that the process waits. */
  readonly onWaiting?: () => Promise<void>;
  /** For tests. */
  readonly confirm?: (host: Host) => Promise<Confirmation>;
  readonly reboot?: Host['reboot'];
  readonly lookMs?: number;
}

/**
 * Reads the settings. If they are unusable and an update waits for confirmation in this boot, reads
 * them repeatedly until they are usable, or the time is over and the machine rolls back.
 *
 * @returns the settings; undefined = the machine rolled back, or the signal aborted
 * @throws the error of `read` when no update waits for confirmation
 */
export async function settingsOrBack<Settings>(
  read: () => Settings,
  { flags, environment }: { readonly flags: HostWorkerOptions; readonly environment: Environment },
  resort: LastResort,
): Promise<Settings | undefined> {
  try {
    return read();
  } catch (error) {
    const { log } = resort;
    const host = await bareHost(flags, environment, resort);
    const confirm = resort.confirm ?? ((bare: Host) => confirmation(bare, RECONNECT_SECONDS, log));
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
  if (!signal.aborted) await goBackByItself(host, signal, log);
  return undefined;
}

/** The machine with the readable part of its settings; undefined when that is not enough. */
async function bareHost(
  flags: HostWorkerOptions,
  environment: Environment,
  { log, reboot }: LastResort,
): Promise<Host | undefined> {
  try {
    const settings = readBareSettings(flags, environment);
    // The OS driver may be named in the unusable file; the journal names it, too.
    const { ports } = await createMachinePorts(settings);
    const fetch = async (name: string): Promise<never> => {
      throw new Error(`${name} cannot be fetched without settings`);
    };
    return {
      node: settings.node,
      identity: `slipway-host@${settings.node}`,
      exclusive: createExclusive(),
      ports: { ...ports, configs: { fetch } },
      reboot: reboot ?? ((reason, signal) => rebootMachine(reason, settings, { signal, log })),
    };
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'no way back without settings');
    return undefined;
  }
}

function readBareSettings(flags: HostWorkerOptions, environment: Environment) {
  try {
    return readMachineSettings(flags, environment);
  } catch {
    // The file itself is unusable: continue without it.
    return readMachineSettings({ ...flags, configFile: NO_FILE }, environment);
  }
}
