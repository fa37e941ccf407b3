/**
 * Half-done work that is found on a host: finished when all of it is there and holds, taken over when
 * the new order wants the same, and undone otherwise. Afterwards the host is in a known state.
 */

import { fail, failureName, messageOf } from '../../core/errors';
import type { ConfigReference, HostOrder } from '../../workflows/activity-contracts';
import { writeCommitted } from './committed';
import { findDrift, findOsDrift } from './drift';
import { openJournal } from './open-journal';
import { type HostPorts, markOf, type OpenJournal, type OsStatus } from './ports';
import { endRepair } from './repair-end';
import { dropKeptConfigs, type HostConfig, readKeptConfig, writeCurrentConfig } from './records';
import { tellOfOldFiles } from './services';
import { refuseForeign } from './standing';
import { undoHere } from './undo';

export interface Settled {
  /** A sentence for the record; absent = there was nothing. */
  readonly what?: string;
  /** The update goes on from here; present when it was taken over. */
  readonly takenOver?: OpenJournal;
}

/**
 * Settles what an earlier update left. Safe to repeat.
 *
 * @throws `RollbackFailed`, `WrongDeployment` when a person booted a deployment of their own
 */
export async function settle(ports: HostPorts, order: HostOrder): Promise<Settled> {
  const journal = await openJournal(ports);
  if (journal === undefined) return {};
  const status = await ports.os.status();
  if (journal.header.repair === true) return { what: await endRepair(ports, journal, status) };
  refuseForeign(ports, journal, status);
  const { target } = journal.header;
  if (await isCommittable(ports, journal)) {
    await commit(ports, journal);
    return { what: `finished the update to ${target.name}, which was left verified` };
  }
  const isComplete =
    markOf(journal, 'applied') !== undefined && markOf(journal, 'goingBack') === undefined;
  if (isComplete && sameConfig(target, order.config) && !(await hasRebooted(ports, journal))) {
    return { what: `took over the update to ${target.name}`, takenOver: journal };
  }
  const problem = await undo(ports, journal);
  const but = problem === undefined ? '' : `; its services are not well: ${problem}`;
  return { what: `undid the unfinished update to ${target.name}${but}` };
}

/** Whether nothing is missing but the commit, or its end. A way back that was begun is final. */
async function isCommittable(ports: HostPorts, journal: OpenJournal): Promise<boolean> {
  if (markOf(journal, 'goingBack') !== undefined) return false;
  return markOf(journal, 'committing') !== undefined || isFinished(ports, journal);
}

/**
 * Makes the journal's target the current config and drops the before-images.
 *
 * @throws `WrongDeployment` when the machine does not run the deployment of the update,
 * `RefusedRequest` when it has been taken back
 */
export async function commit(ports: HostPorts, journal: OpenJournal): Promise<void> {
  refuseTakenBack(ports, journal);
  const status = await ports.os.status();
  refuseOldDeployment(ports, journal, status);
  const config = await readKeptConfig(ports.files, journal.header.target);
  // Without the kept config the current one was written already: a crash came in between.
  if (config !== undefined) {
    if (markOf(journal, 'committing') === undefined) await journal.mark({ kind: 'committing' });
    await writeCommitted(ports.files, config.reference, status);
    await writeCurrentConfig(ports.files, config);
  }
  await journal.close();
  await dropKeptConfigs(ports.files);
}

/** A way back that was begun is final: some or all files are the old ones by now. */
function refuseTakenBack({ node }: HostPorts, journal: OpenJournal): void {
  const back = markOf(journal, 'goingBack');
  if (back === undefined) return;
  const why = back.because === undefined ? '' : `: ${back.because}`;
  throw fail(
    'RefusedRequest',
    `commit ${journal.header.target.name} on ${node}: it has been taken back${why}`,
  );
}

/** The record of the current config is in `/etc`: written on the old deployment, it would be a lie. */
function refuseOldDeployment(ports: HostPorts, journal: OpenJournal, { booted }: OsStatus): void {
  const expected = markOf(journal, 'armed')?.expected;
  if (expected === undefined || booted.id === expected) return;
  throw fail(
    'WrongDeployment',
    `commit ${journal.header.target.name} on ${ports.node}: booted deployment ${booted.id}, expected ${expected}`,
  );
}

/**
 * Puts every path back, tells the services and drops what was staged. The booted deployment stays
 * what it is. The journal goes last, so that a crash repeats all of it. A service that is not well on
 * the old files keeps no new order from being carried out: it may be what mends the service.
 *
 * @returns what a service said; undefined = they are well
 */
async function undo(ports: HostPorts, journal: OpenJournal): Promise<string | undefined> {
  await ports.os.discard();
  await undoHere(ports, journal, await ports.os.status());
  let problem: string | undefined;
  try {
    await tellOfOldFiles(ports, journal);
  } catch (error) {
    if (failureName(error) !== 'ServiceFailed') throw error;
    problem = messageOf(error);
  }
  await journal.close();
  await dropKeptConfigs(ports.files);
  return problem;
}

/** Whether the machine has booted since the reboot was armed. */
export async function hasRebooted(ports: HostPorts, journal: OpenJournal): Promise<boolean> {
  const armed = markOf(journal, 'armed');
  return armed !== undefined && (await ports.os.status()).bootId !== armed.bootId;
}

/** Whether everything was done, and the host proves it. */
async function isFinished(ports: HostPorts, journal: OpenJournal): Promise<boolean> {
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
