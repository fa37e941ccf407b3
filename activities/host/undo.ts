/** The undo of an update's files, done once in each `/etc`: what a person mends afterwards stays mended. */

import { atBest, type HostPorts, type OpenJournal, type OsStatus } from './ports';
import { forgetResults } from './orders';

/**
 * Puts every path back, unless that was done already on the booted deployment. What the host answered
 * to earlier orders is no longer true then.
 *
 * @returns whether anything was changed
 * @throws `RollbackFailed` naming the path
 */
export async function undoHere(
  ports: Pick<HostPorts, 'files' | 'warn'>,
  journal: OpenJournal,
  { booted }: OsStatus,
): Promise<boolean> {
  const isDone = journal
    .marks()
    .some((mark) => mark.kind === 'undone' && mark.deployment === booted.id);
  const hasChanged = isDone ? false : await journal.undo();
  if (!isDone) await journal.mark({ kind: 'undone', deployment: booted.id });
  await atBest(ports, 'cannot forget old answers', () => forgetResults(ports.files));
  return hasChanged;
}
