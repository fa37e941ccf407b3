import { atBest, type HostPorts, type OpenJournal, type OsStatus } from '../ports';
import { changesUnits, tellOfOldFiles } from '../services/services';

/**
 * Ends a repair whose process died: restores its paths, runs the actions, and closes its journal
 * whether or not they succeed. On another deployment there is nothing to restore.
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
      // After a boot, services have started on the restored files.
      if (before.bootId === bootId) await tellOfOldFiles(ports, journal);
      else if (changesUnits(plan)) await ports.systemd.daemonReload();
    });
  }
  await journal.close();
  return `undid an unfinished ${plan.summary}`;
}
