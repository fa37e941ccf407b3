/** A reboot that was armed and has not happened: the process died in between. */

import { type HostPorts, markOf } from './ports';

/** Why a reboot is due; undefined when none is. Asked once when a host worker starts. */
export async function dueReboot(
  ports: Pick<HostPorts, 'journal' | 'os'>,
): Promise<string | undefined> {
  const journal = await ports.journal.open();
  if (journal === undefined) return undefined;
  const { bootId } = await ports.os.status();
  const back = markOf(journal, 'goingBack');
  if (back !== undefined) return back.bootId === bootId ? 'the update is taken back' : undefined;
  return markOf(journal, 'armed')?.bootId === bootId
    ? `update to ${journal.header.target.name}`
    : undefined;
}
