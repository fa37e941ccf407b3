/**
 * Half-done work that is found on a host: finished when all of it is there and holds, taken over when
 * the new order wants the same, and undone otherwise. Afterwards the host is in a known state.
 */

import type { ConfigReference, HostOrder } from '../../workflows/activity-contracts';
import { findDrift, findOsDrift } from './drift';
import { forgetResults } from './orders';
import { type HostPorts, markOf, type OpenJournal } from './ports';
import { dropKeptConfigs, type HostConfig, readKeptConfig, writeCurrentConfig } from './records';
import { tellOfOldFiles } from './services';

export interface Settled {
  /** A sentence for the record; absent = there was nothing. */
  readonly what?: string;
  /** The update goes on from here; present when it was taken over. */
  readonly takenOver?: OpenJournal;
}

/** Settles what an earlier update left. Safe to repeat. @throws `RollbackFailed` */
export async function settle(ports: HostPorts, order: HostOrder): Promise<Settled> {
  const journal = await ports.journal.open();
  if (journal === undefined) return {};
  const { target } = journal.header;
  if (markOf(journal, 'committing') !== undefined || (await isFinished(ports, journal))) {
    await commit(ports, journal);
    return { what: `finished the update to ${target.name}, which was left verified` };
  }
  const isComplete =
    markOf(journal, 'applied') !== undefined && markOf(journal, 'goingBack') === undefined;
  if (isComplete && sameConfig(target, order.config) && !(await hasRebooted(ports, journal))) {
    return { what: `took over the update to ${target.name}`, takenOver: journal };
  }
  await undo(ports, journal);
  return { what: `undid the unfinished update to ${target.name}` };
}

/** Makes the journal's target the current config and drops the before-images. */
export async function commit(ports: HostPorts, journal: OpenJournal): Promise<void> {
  const config = await readKeptConfig(ports.files, journal.header.target);
  // Without the kept config the current one was written already: a crash came in between.
  if (config !== undefined) {
    if (markOf(journal, 'committing') === undefined) await journal.mark({ kind: 'committing' });
    await writeCurrentConfig(ports.files, config);
  }
  await journal.close();
  await dropKeptConfigs(ports.files);
}

/**
 * Puts every path back, tells the services and drops what was staged. The booted deployment stays
 * what it is. The journal goes last, so that a crash repeats all of it.
 */
async function undo(ports: HostPorts, journal: OpenJournal): Promise<void> {
  await ports.os.discard();
  await journal.undo();
  await forgetResults(ports.files);
  await tellOfOldFiles(ports, journal);
  await journal.close();
  await dropKeptConfigs(ports.files);
}

/** Whether the machine has booted since the reboot was armed. */
export async function hasRebooted(ports: HostPorts, journal: OpenJournal): Promise<boolean> {
  const armed = markOf(journal, 'armed');
  return armed !== undefined && (await ports.os.status()).bootId !== armed.bootId;
}

/** Whether everything was done, and the host proves it. */
async function isFinished(ports: HostPorts, journal: OpenJournal): Promise<boolean> {
  if (markOf(journal, 'goingBack') !== undefined) return false;
  const { plan, target } = journal.header;
  const config = await readKeptConfig(ports.files, target);
  if (config === undefined || markOf(journal, 'applied') === undefined) return false;
  const acted = plan.reboot
    ? await hasRebooted(ports, journal)
    : markOf(journal, 'services') !== undefined ||
      plan.actions.every(({ type }) => type === 'None' || type === 'Drain');
  return acted && (await holds(ports, config));
}

/** Whether disk and operating system are as the config says. */
export async function holds(ports: HostPorts, config: HostConfig): Promise<boolean> {
  if ((await findDrift(ports, config.spec)) !== undefined) return false;
  if (!ports.os.managesOs) return true;
  return findOsDrift(await ports.os.status(), config.spec) === undefined;
}

export function sameConfig(a: ConfigReference, b: ConfigReference): boolean {
  return a.name === b.name && a.digest === b.digest;
}
