/**
 * What a host looks after by itself when its worker starts, before any order arrives and before the
 * kubelet does: a reboot that was armed and did not happen, one that ended in the wrong deployment,
 * and an update after which nobody can be reached.
 */

import { goBack } from './back';
import { type HostPorts, markOf } from './ports';
import { changesUnits } from './services';

/**
 * Settles what the last process left behind. Safe to repeat.
 *
 * A reboot into the old deployment (the new one was not finalized) takes the files back at once, so
 * that nothing starts on files of one config and a system of another; the update is told when it asks.
 *
 * @returns why a reboot is due; undefined when none is
 * @throws `RollbackFailed` when the journal is damaged
 */
export async function settleAtStart(
  ports: Pick<HostPorts, 'journal' | 'os' | 'systemd'>,
): Promise<string | undefined> {
  const journal = await ports.journal.open();
  if (journal === undefined) return undefined;
  const { bootId, booted } = await ports.os.status();
  const { target, previousDeployment } = journal.header;
  const back = markOf(journal, 'goingBack');
  if (back !== undefined) {
    if (back.bootId !== bootId) return undefined;
    // The mark comes before the deeds: the process may have died between the two.
    await ports.os.discard();
    await journal.undo();
    if (booted.id !== previousDeployment) await ports.os.rollback();
    return 'the update is taken back';
  }
  const armed = markOf(journal, 'armed');
  if (armed === undefined) return undefined;
  if (armed.bootId === bootId) {
    // As above: without this the machine would boot what it has booted.
    await ports.os.finalize();
    return `update to ${target.name}`;
  }
  if (booted.id !== armed.expected && booted.id === previousDeployment) {
    await journal.mark({ kind: 'goingBack' });
    await journal.undo();
    // systemd has read the units of the new config already.
    if (changesUnits(journal.header.plan)) await ports.systemd.daemonReload();
  }
  return undefined;
}

/** An update that the machine has rebooted into, and of which nobody knows yet whether it holds. */
export interface Unconfirmed {
  /** From the order of the reboot; absent = as this host is set up. */
  readonly reconnectSeconds?: number;
}

/** The update that this boot has to confirm; undefined when there is none, or none any more. */
export async function awaitsConfirmation(
  ports: Pick<HostPorts, 'journal' | 'os'>,
): Promise<Unconfirmed | undefined> {
  const journal = await ports.journal.open();
  const armed = journal === undefined ? undefined : markOf(journal, 'armed');
  if (journal === undefined || armed === undefined) return undefined;
  const isDecided =
    markOf(journal, 'goingBack') !== undefined || markOf(journal, 'committing') !== undefined;
  const { bootId } = await ports.os.status();
  if (isDecided || bootId === armed.bootId) return undefined;
  if (markOf(journal, 'reached')?.bootId === bootId) return undefined;
  const { reconnectSeconds } = armed;
  return reconnectSeconds === undefined ? {} : { reconnectSeconds };
}

/**
 * Notes that the host is not cut off in this boot. Not beside an activity: the journal has one writer.
 *
 * @throws `RollbackFailed` when the journal is damaged
 */
export async function confirmReached(ports: Pick<HostPorts, 'journal' | 'os'>): Promise<void> {
  const journal = await ports.journal.open();
  if (journal === undefined) return;
  const { bootId } = await ports.os.status();
  await journal.mark({ kind: 'reached', bootId });
}

/**
 * Takes the update back without being told: it may be what cut the network. Asks for a reboot.
 *
 * @throws `RollbackFailed` naming the path
 */
export async function goBackAlone(ports: HostPorts): Promise<void> {
  await goBack(ports);
}
