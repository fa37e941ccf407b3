/**
 * When an order arrives, an unfinished update is committed if its node was Ready on it, taken over
 * if the order wants the same config, else undone, once the node is out of service if that disturbs
 * it.
 */

import type { UpdatePlan } from '../../core/node/plan';
import { fail, failureName, messageOf } from '../../core/errors';
import type { ConfigReference, UpdateOrder } from '../../workflows/contracts/host';
import { writeCommitted } from '../records/committed-deployment';
import { desiredConfig } from '../update/fetch-config';
import { findDrift, findOsDrift } from '../drift/compare';
import { dropFallback } from '../update/fallback';
import { openJournal, otherDriver } from '../transaction/open-journal';
import { lookAtOs, lookWithinFiveMinutes } from '../retries';
import { planBack } from '../update/plan-update';
import { type HostPorts, markOf, type OpenJournal, type OsStatus } from '../ports';
import { endRepair } from '../drift/unfinished-repair';
import {
  DESIRED_FILE,
  dropKeptConfigs,
  type HostConfig,
  readCurrentConfig,
  readKeptConfig,
  sameConfig,
  writeCurrentConfig,
} from '../records/configs';
import { tellOfOldFiles } from '../services/services';
import {
  backDisturbs,
  backTakesBoot,
  refuseForeign,
  standingOf,
} from '../transaction/unfinished-update';
import { undoHere } from '../transaction/undo';

interface Settled {
  /** A sentence; absent: there was nothing. */
  readonly what?: string;
  readonly underWay?: {
    readonly plan: UpdatePlan;
    /** By a reboot, or by services. */
    readonly needsDrain: boolean;
  };
}

/**
 * Safe to repeat, also on a node in service: it never requests a reboot, and leaves alone what
 * needs one.
 *
 * @throws `RollbackFailed`, `WrongDeployment` when a person booted another deployment
 */
export async function settleForOrder(ports: HostPorts, order: UpdateOrder): Promise<Settled> {
  const journal = await openJournal(ports);
  if (journal === undefined) return {};
  const status = await lookWithinFiveMinutes(ports);
  if (journal.header.repair === true) return { what: await endRepair(ports, journal, status) };
  refuseForeign(ports, journal, status);
  const { target, plan } = journal.header;
  if (await isCommittable(ports, journal, order)) {
    await commit(ports, journal);
    return { what: `finished the update to ${target.name}, which was left verified` };
  }
  const needsDrain = backDisturbs(journal, status);
  if (isWholeHere(ports, journal, status) && sameConfig(target, order.config)) {
    return { what: `took over the update to ${target.name}`, underWay: { plan, needsDrain } };
  }
  if (needsDrain) {
    const back = planBack(journal.header, { reboot: backTakesBoot(journal, status) });
    const what = `the update to ${target.name} was lost, and is rolled back once the node is drained`;
    return { what, underWay: { plan: back, needsDrain } };
  }
  const said = await undo(ports, journal, status, `an order to prepare ${order.config.name} came`);
  const but = said === undefined ? '' : `; its services are not well: ${said}`;
  return { what: `undid the unfinished update to ${target.name}${but}` };
}

/**
 * The next update would take the files of an update that must still be rolled back for those of the
 * previous config.
 *
 * @throws `EarlierUpdateLost`
 */
export function refuseUnsettled(
  { node }: Pick<HostPorts, 'node'>,
  journal: OpenJournal,
  status: OsStatus,
  { config }: UpdateOrder,
): void {
  if (!backDisturbs(journal, status)) return;
  const { name } = journal.header.target;
  throw fail(
    'EarlierUpdateLost',
    `${node} still has an update to ${name} that was lost; it is rolled back, and ${config.name} is tried ` +
      'after that',
  );
}

/**
 * The node becomes Ready before the commit, which a verified host does not see: so the commit must
 * have begun, or the Node must name the config. A rollback that has begun is final.
 */
async function isCommittable(
  ports: HostPorts,
  journal: OpenJournal,
  { currentConfig }: UpdateOrder,
): Promise<boolean> {
  if (hasBegunToCommit(journal)) return true;
  if (markOf(journal, 'goingBack') !== undefined) return false;
  const { target } = journal.header;
  const isNamed = currentConfig !== undefined && sameConfig(target, currentConfig);
  if (!isNamed || markOf(journal, 'verified') === undefined) return false;
  const kept = await readKeptConfig(ports.files, target);
  return kept !== undefined && (await holds(ports, kept));
}

/** A later rollback is final. */
export function hasBegunToCommit(journal: OpenJournal): boolean {
  const isBack = markOf(journal, 'goingBack') !== undefined;
  return !isBack && markOf(journal, 'committing') !== undefined;
}

/** Everything was written, and orders can continue on this deployment. */
function isWholeHere({ now }: HostPorts, journal: OpenJournal, status: OsStatus): boolean {
  const { kind } = standingOf(journal, status, now());
  const isStanding = kind === 'asLeft' || kind === 'adopted' || kind === 'rebootDue';
  return isStanding && markOf(journal, 'applied') !== undefined;
}

/**
 * The journal's target becomes the current config, and the before-images go.
 *
 * @throws `WrongDeployment` when the machine does not run the deployment of the update,
 *   `RefusedRequest` when it was rolled back, `ConfigFetchFailed` or `DigestMismatch` when the
 *   stored config is damaged and no other is available
 */
export async function commit(ports: HostPorts, journal: OpenJournal): Promise<void> {
  refuseTakenBack(ports, journal);
  const status = await lookAtOs(ports);
  refuseOldDeployment(ports, journal, status);
  const config = await configToCommit(ports, journal.header.target);
  if (config !== undefined) {
    if (markOf(journal, 'committing') === undefined) await journal.mark({ kind: 'committing' });
    await writeCommitted(ports.files, config.reference, status);
    await writeCurrentConfig(ports.files, config);
  }
  // This worker has started, so the fallback is not needed.
  await dropFallback(ports.files);
  await journal.close();
  await dropKeptConfigs(ports.files);
}

/** Undefined = it is the current config already. */
async function configToCommit(
  ports: HostPorts,
  target: ConfigReference,
): Promise<HostConfig | undefined> {
  const kept = await readKeptConfig(ports.files, target);
  if (kept !== undefined) return kept;
  const current = await readCurrentConfig(ports.files);
  if (current !== undefined && sameConfig(current.reference, target)) return undefined;
  try {
    return await desiredConfig(ports, { config: target });
  } catch (error) {
    const name = failureName(error);
    if (name === undefined) throw error;
    const what =
      `finish the update to ${target.name} on ${ports.node}, whose config is missing or damaged in ` +
      `${DESIRED_FILE}: ${messageOf(error)}; nothing was changed`;
    throw Object.assign(fail(name, what), { cause: error });
  }
}

/** After a rollback has begun, some files may be the old ones. */
function refuseTakenBack({ node }: HostPorts, journal: OpenJournal): void {
  const back = markOf(journal, 'goingBack');
  if (back === undefined) return;
  const why = back.because === undefined ? '' : `: ${back.because}`;
  throw fail(
    'RefusedRequest',
    `commit ${journal.header.target.name} on ${node}: it has been rolled back${why}`,
  );
}

/** The record of the current config is in `/etc`: on the old deployment it would be wrong. */
function refuseOldDeployment(ports: HostPorts, journal: OpenJournal, { booted }: OsStatus): void {
  const expected = markOf(journal, 'armed')?.expected;
  if (expected === undefined || booted.id === expected) return;
  throw fail(
    'WrongDeployment',
    `commit ${journal.header.target.name} on ${ports.node}: booted deployment ${booted.id}, expected ${expected}`,
  );
}

/**
 * The mark comes first, so that no update takes over a partial undo; the journal is dropped last,
 * so that a crash repeats everything. A failing service does not block the new order, which may fix
 * it.
 *
 * @returns the failure of a service; undefined = none
 */
async function undo(
  ports: HostPorts,
  journal: OpenJournal,
  status: OsStatus,
  because: string,
): Promise<string | undefined> {
  if (markOf(journal, 'goingBack') === undefined)
    await journal.mark({ kind: 'goingBack', because });
  await ports.os.discard();
  await undoHere(ports, journal, status);
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

/**
 * For an update that was taken over by one that ends early. An undo that disturbs the node waits
 * until it is out of service.
 *
 * @returns whether nothing of an update is left
 */
export async function undoTakenOver(
  ports: HostPorts,
  journal: OpenJournal,
  { config }: UpdateOrder,
): Promise<boolean> {
  const { target, repair } = journal.header;
  if (repair === true) return true;
  if (!sameConfig(target, config) || otherDriver(ports, journal) !== undefined) return false;
  const status = await lookWithinFiveMinutes(ports);
  if (markOf(journal, 'committing') !== undefined || backDisturbs(journal, status)) return false;
  const problem = await undo(ports, journal, status, 'the update that took it over ended');
  if (problem !== undefined) ports.warn?.(`services after the rollback: ${problem}`);
  return true;
}

export function hasRebooted(journal: OpenJournal, { bootId }: OsStatus): boolean {
  const armed = markOf(journal, 'armed');
  return armed !== undefined && bootId !== armed.bootId;
}

export async function holds(ports: HostPorts, config: HostConfig): Promise<boolean> {
  if ((await findDrift(ports, config.spec)) !== undefined) return false;
  if (!ports.os.managesOs) return true;
  return findOsDrift(await lookWithinFiveMinutes(ports), config.spec) === undefined;
}
