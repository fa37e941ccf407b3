/** The end of a repair of drift that did not get to its own: whoever finds its journal comes here. */

import { atBest, type HostPorts, type OpenJournal, type OsStatus } from './ports';
import { changesUnits, tellOfOldFiles } from './services';

/**
 * Puts back what a repair wrote that was not finished, tells the services, and closes its journal
 * whatever they say. On another deployment, as after a reboot by somebody, there is nothing to put back.
 *
 * @returns a sentence for the log
 * @throws `RollbackFailed` naming the path
 */
export async function endRepair(
  ports: Pick<HostPorts, 'systemd' | 'context' | 'pause' | 'warn'>,
  journal: OpenJournal,
  { bootId, booted }: OsStatus,
): Promise<string> {
  const { previousDeployment, before, plan } = journal.header;
  if (booted.id === previousDeployment) {
    await journal.undo();
    await atBest(ports, 'services after a repair that was undone', async () => {
      // In another boot services start on what was put back.
      if (before.bootId === bootId) await tellOfOldFiles(ports, journal);
      else if (changesUnits(plan)) await ports.systemd.daemonReload();
    });
  }
  await journal.close();
  return `undid an unfinished ${plan.summary}`;
}
