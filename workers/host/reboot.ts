import { rebootThroughSystemd } from '../../adapters/host';
import type { MachineSettings } from './machine-settings';
import type { Logger } from '../../process/logging';

/**
 * Resolves when systemd ends this process.
 *
 * @throws an Error with the cause when the machine does not go down in time
 */
export async function rebootMachine(
  reason: string,
  { inhibitorSeconds, shutdownSeconds }: MachineSettings,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<void> {
  log.info({ reason }, 'reboot requested');
  await rebootThroughSystemd(reason, signal, {
    inhibitorSeconds,
    shutdownSeconds,
    onBlocked: (blockers, isOver) => {
      const fields = { blockers: blockers.map(({ who, why, pid }) => `${who} (${pid}): ${why}`) };
      if (isOver) log.warn(fields, 'reboot goes on although programs block it');
      else log.info(fields, 'reboot waits for programs that block it');
    },
  });
}
