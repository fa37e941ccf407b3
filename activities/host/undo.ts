/** The undo of an update's files, done once in each `/etc`: what a person mends afterwards stays mended. */

import { atBest, type HostPorts, type OpenJournal, type OsStatus } from './ports';
import { forgetResults } from './orders';

/**
 * Puts every path back, unless that was done already on the booted deployment. What the host answered
 * to earlier orders is no longer true then.
 *
 * @throws `RollbackFailed` naming the path
 */
export async function undoHere(
  ports: Pick<HostPorts, 'files' | 'warn'>,
  journal: OpenJournal,
  status: OsStatus,
): Promise<void> {
  if (!isUndoneHere(journal, status)) {
    await journal.undo();
    await journal.mark({ kind: 'undone', deployment: status.booted.id });
  }
  await atBest(ports, 'cannot forget old answers', () => forgetResults(ports.files));
}

/** Whether something is left to put back on the booted deployment. Changes nothing. */
export async function differsHere(journal: OpenJournal, status: OsStatus): Promise<boolean> {
  return !isUndoneHere(journal, status) && (await journal.differing()).length > 0;
}

/** Whether every path was put back on the booted deployment. */
export function isUndoneHere(journal: OpenJournal, { booted }: OsStatus): boolean {
  return journal.marks().some((mark) => mark.kind === 'undone' && mark.deployment === booted.id);
}
