/** Undoes an update's files once in each `/etc`: later changes by a person stay. */

import { type DomainError, failureName, messageOf } from '../../core/errors';
import { atBest, type HostPorts, type OpenJournal, type OsStatus } from '../ports';
import { forgetResults } from '../records/orders';

/**
 * Not again on a deployment where it was done. Drops the recorded answers, which are then no longer
 * true.
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
 * The `/etc` of the old deployment is undone after the boot. A path that cannot be restored is only
 * reported where this `/etc` is dropped with its deployment, or where the machine boots in any
 * case.
 *
 * @param options - `isAlone`: no order requested the boot, and none can arrive
 * @throws `RollbackFailed` naming the path, on the old deployment unless `isAlone`; on any, when a
 *   before-image is damaged
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

/** A damaged before-image, in contrast, prevents the undo on every deployment. */
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

/** On the booted deployment. Changes nothing. */
export async function differsHere(journal: OpenJournal, status: OsStatus): Promise<boolean> {
  return !isUndoneHere(journal, status) && (await journal.differing()).length > 0;
}

export function isUndoneHere(journal: OpenJournal, { booted }: OsStatus): boolean {
  return journal.marks().some((mark) => mark.kind === 'undone' && mark.deployment === booted.id);
}
