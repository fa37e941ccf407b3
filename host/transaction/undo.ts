/** The undo of an update's files, done once in each `/etc`: what a person mends afterwards stays mended. */

import { type DomainError, failureName, messageOf } from '../../core/errors';
import { atBest, type HostPorts, type OpenJournal, type OsStatus } from '../ports';
import { forgetResults } from '../records/orders';

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
  await undoOnce(journal, status);
  await atBest(ports, 'cannot forget old answers', () => forgetResults(ports.files));
}

/**
 * The same before the machine is to boot the deployment that it had before the update. In another one, a path that
 * cannot be put back is told and no more: this `/etc` goes with its deployment. The old one has its own, which is
 * undone once that is up, with all that both share; until then nothing is noted as undone. So it is where the machine
 * reaches nobody and boots by itself: what cut it off is back by now, and counts after the boot.
 *
 * @param options - `isAlone`: no order asked for that boot, and none can come
 * @throws `RollbackFailed` naming the path, on the old deployment; on any when a before-image is damaged
 */
export async function undoBeforeBoot(
  ports: Pick<HostPorts, 'files' | 'warn'>,
  journal: OpenJournal,
  status: OsStatus,
  { isAlone }: { readonly isAlone: boolean },
): Promise<void> {
  const isLeaving = status.booted.id !== journal.header.previousDeployment;
  try {
    await undoOnce(journal, status);
  } catch (error) {
    if (!(isLeaving || isAlone) || !isOfPaths(error)) throw error;
    const where = isLeaving
      ? `deployment ${status.booted.id} is left as it is`
      : 'the machine boots all the same';
    ports.warn?.(`${where}: ${messageOf(error)}`);
  }
  await atBest(ports, 'cannot forget old answers', () => forgetResults(ports.files));
}

/** Whether paths could not be put back; where a before-image is damaged, nothing can be, in no deployment. */
export function isOfPaths(error: unknown): error is DomainError {
  if (failureName(error) !== 'RollbackFailed') return false;
  const { details } = error as DomainError;
  return details?.['damaged'] !== true;
}

async function undoOnce(journal: OpenJournal, status: OsStatus): Promise<void> {
  if (isUndoneHere(journal, status)) return;
  await journal.undo();
  await journal.mark({ kind: 'undone', deployment: status.booted.id });
}

/** Whether something is left to put back on the booted deployment. Changes nothing. */
export async function differsHere(journal: OpenJournal, status: OsStatus): Promise<boolean> {
  return !isUndoneHere(journal, status) && (await journal.differing()).length > 0;
}

/** Whether every path was put back on the booted deployment. */
export function isUndoneHere(journal: OpenJournal, { booted }: OsStatus): boolean {
  return journal.marks().some((mark) => mark.kind === 'undone' && mark.deployment === booted.id);
}
