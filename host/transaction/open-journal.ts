/**
 * The OS driver that began an update names its deployments, locks, packages and arguments: another
 * driver may not find them, and would misjudge the machine.
 */

import { fail } from '../../core/errors';
import { JOURNAL_DIRECTORY } from '../../adapters/host';
import type { HostPorts, OpenJournal } from '../ports';

type Ports = Pick<HostPorts, 'node' | 'journal' | 'os'>;

/**
 * @throws `RollbackFailed` when the journal is damaged, or of another OS driver; nothing is changed
 *   then
 */
export async function openJournal(ports: Ports): Promise<OpenJournal | undefined> {
  const journal = await ports.journal.open();
  const problem = journal === undefined ? undefined : otherDriver(ports, journal);
  if (problem === undefined) return journal;
  throw fail('RollbackFailed', problem, { driver: ports.os.name });
}

/** A sentence; undefined = the journal is of this driver. */
export function otherDriver(
  { node, os }: Pick<Ports, 'node' | 'os'>,
  { header: { driver, target, repair } }: OpenJournal,
): string | undefined {
  if (driver === os.name) return undefined;
  const what = repair === true ? `the repair of ${target.name}` : `the update to ${target.name}`;
  return (
    `${what} on ${node} was begun with the OS driver "${driver}", and the OS driver is "${os.name}" ` +
    `now: its journal in ${JOURNAL_DIRECTORY} was left alone, and nothing was changed; set ` +
    `driver: ${driver} in /etc/slipway/host.yaml until the update is finished or undone`
  );
}
