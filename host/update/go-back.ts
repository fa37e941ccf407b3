/** The rollback: undoes the journal byte for byte, boots the old deployment, and verifies both. */

import { fail, failureName, messageOf } from '../../core/errors';
import type {
  DiscardedUpdate,
  GoneBack,
  UpdateOrder,
  VerifiedBack,
} from '../../workflows/contracts/host';
import { proveFilesBack, proveOsBack, proveUndone } from './prove-back';
import { currentConfig } from './fetch-config';
import { dropFallback } from './fallback';
import { isForced } from './force-file';
import { refuseSameBoot } from './verify-and-commit';
import { openJournal } from '../transaction/open-journal';
import { forgetResults } from '../records/orders';
import { lookAtOs, patiently } from '../retries';
import {
  atBest,
  type HostPorts,
  kernelBootId,
  markOf,
  type OpenJournal,
  type OsStatus,
} from '../ports';
import { proveAsBefore, proveKubelet } from './prove-running';
import { dropKeptConfigs, readCurrentConfig } from '../records/configs';
import { undoTakenOver } from '../settle/settle-for-order';
import { tellOfOldFiles } from '../services/services';
import { backTakesBoot, refuseForeign } from '../transaction/unfinished-update';
import { isOfPaths, undoBeforeBoot } from '../transaction/undo';

export interface Alone {
  readonly because: string;
  readonly reboot: boolean;
}

/**
 * Undoes files and links at once; the deployment by a reboot, if the new one is booted. Without a
 * reboot, runs the actions for services that may have the new files. Safe to repeat.
 *
 * @param alone - when no order requested it: why, and whether the machine boots in any case
 * @throws `RollbackFailed` naming the path, unless the machine leaves this deployment or boots by
 *   itself, `ServiceFailed` naming the service, `WrongDeployment` when a person booted another
 *   deployment, `OsCommandFailed` when files, units and services are rolled back, and the operating
 *   system is not
 */
export async function goBack(ports: HostPorts, alone?: Alone): Promise<GoneBack> {
  const journal = await openJournal(ports);
  if (journal === undefined) {
    const { bootId } = await lookAtOs(ports);
    await discard(ports);
    await dropKeptConfigs(ports.files);
    return { rebooting: false, bootId };
  }
  const status = await statusOrUndo(ports, journal, alone?.because);
  const { bootId, booted, pending } = status;
  refuseForeign(ports, journal, status);
  const { header } = journal;
  const begun = markOf(journal, 'goingBack');
  const rebooting = alone?.reboot === true || backTakesBoot(journal, status);
  const why = alone?.because ?? begun?.because;
  if (begun === undefined || begun.unseen === true) {
    // Without an order, the next process must finish the rollback.
    const boot = alone === undefined ? { bootId } : { bootId, due: true as const };
    await journal.mark({
      kind: 'goingBack',
      ...(rebooting ? boot : {}),
      ...(why === undefined ? {} : { because: why }),
      ...blame(alone, begun),
    });
  }
  await atBest(ports, 'cannot remove the fallback of the next boot', () =>
    dropFallback(ports.files),
  );
  // A failing OS program must not prevent the undo of files.
  try {
    await undoBeforeBoot(ports, journal, status, { isAlone: alone?.reboot === true });
  } catch (error) {
    // Restored files count only when systemd and the services have read them.
    if (isOfPaths(error)) await tellAtBest(ports, journal);
    throw error;
  }
  if (!rebooting) await tellAndDiscard(ports, journal);
  else {
    await discardBefore(ports);
    // The next boot may be the deployment from which the boot loader fell back.
    if (booted.id !== header.previousDeployment || pending !== undefined) {
      await patiently(ports, `choose deployment ${header.previousDeployment}`, () =>
        ports.os.rollback(header.previousDeployment),
      );
    }
    await noteDue(journal, bootId);
    ports.reboot.request('the update is rolled back');
  }
  return { rebooting, bootId, ...(begun?.because === undefined ? {} : { because: begun.because }) };
}

/** Unless an order began the rollback. */
function blame(alone: unknown, begun: unknown): { readonly failed?: true } {
  return alone === undefined || begun !== undefined ? {} : { failed: true };
}

/**
 * The reboot follows even if the process dies. Not earlier: a failed order may be given up, and its
 * node returned to service.
 */
async function noteDue(journal: OpenJournal, bootId: string): Promise<void> {
  const begun = markOf(journal, 'goingBack');
  if (begun?.bootId === bootId && begun.due === true) return;
  await journal.mark({ ...begun, kind: 'goingBack', bootId, due: true });
}

/**
 * Services run on the new files until their actions run, so these come first; neither failure stops
 * the rest.
 */
async function tellAndDiscard(ports: HostPorts, journal: OpenJournal): Promise<void> {
  const [told] = await Promise.allSettled([tellOfOldFiles(ports, journal)]);
  const [dropped] = await Promise.allSettled([discard(ports)]);
  if (told.status === 'rejected') {
    if (dropped.status === 'rejected') ports.warn?.(stillStaged(dropped.reason));
    throw told.reason;
  }
  if (dropped.status === 'fulfilled') return;
  if (failureName(dropped.reason) !== 'OsCommandFailed') throw dropped.reason;
  const back = `files, units and services are as before ${journal.header.target.name}`;
  const text = `${back}; ${stillStaged(dropped.reason)}`;
  throw Object.assign(fail('OsCommandFailed', text), { cause: dropped.reason as unknown });
}

/**
 * A locked deployment does not boot.
 *
 * @throws `OsCommandFailed` when the reboot would boot the deployment that cannot be dropped
 */
async function discardBefore(ports: HostPorts): Promise<void> {
  try {
    await discard(ports);
  } catch (error) {
    if (failureName(error) !== 'OsCommandFailed' || ports.context().signal.aborted) throw error;
    const { staged } = await lookAtOs(ports);
    if (staged?.locked === false) throw error;
    ports.warn?.(stillStaged(error));
  }
}

function stillStaged(error: unknown): string {
  return `the staged deployment could not be dropped: ${messageOf(error)}`;
}

/** One minute: enough for another transaction. */
const LOOKS_BEFORE_FILES = 12;

/** Without a status of the operating system, the files are undone first. */
async function statusOrUndo(
  ports: HostPorts,
  journal: OpenJournal,
  because: string | undefined,
): Promise<OsStatus> {
  try {
    return await lookAtOs(ports, LOOKS_BEFORE_FILES);
  } catch (error) {
    if (ports.context().signal.aborted) throw error;
  }
  const notBack = await undoUnseen(ports, journal, because);
  try {
    return await lookAtOs(ports);
  } catch (error) {
    if (notBack !== undefined) throw notBack;
    const back = `files and units are as before ${journal.header.target.name}`;
    const text = `${back}; the operating system is not, because its driver fails: ${messageOf(error)}`;
    throw Object.assign(fail('OsCommandFailed', text), { cause: error });
  }
}

/**
 * On an unknown deployment. Not recorded as done, because that is recorded per deployment.
 *
 * @returns why paths are not restored; whether that counts depends on the deployment
 */
async function undoUnseen(
  ports: HostPorts,
  journal: OpenJournal,
  because: string | undefined,
): Promise<Error | undefined> {
  if (markOf(journal, 'goingBack') === undefined) {
    const bootId = await kernelBootId(ports);
    const why = because === undefined ? {} : { because, failed: true as const };
    const boot = bootId === undefined ? {} : { bootId };
    await journal.mark({ kind: 'goingBack', unseen: true, ...boot, ...why });
  }
  let notBack: Error | undefined;
  try {
    await journal.undo();
  } catch (error) {
    if (!isOfPaths(error)) throw error;
    notBack = error;
  }
  await atBest(ports, 'cannot forget old answers', () => forgetResults(ports.files));
  await atBest(ports, 'cannot drop the staged deployment', () => ports.os.discard());
  await tellAtBest(ports, journal);
  return notBack;
}

function tellAtBest(ports: HostPorts, journal: OpenJournal): Promise<void> {
  return atBest(ports, 'services after the rollback', () => tellOfOldFiles(ports, journal));
}

function discard(ports: HostPorts): Promise<void> {
  return patiently(ports, 'drop the staged deployment', () => ports.os.discard());
}

/**
 * Verifies the rollback, and drops the deployment of the update and the journal.
 *
 * @throws `NotYetRebooted`, `WrongDeployment`, `VerifyFailed` naming the path, `RefusedRequest`
 *   when the update in progress was not rolled back
 */
export async function verifyBack(
  ports: HostPorts,
  order: UpdateOrder & { readonly rebootedFrom?: string },
): Promise<VerifiedBack> {
  const status = await lookAtOs(ports);
  refuseSameBoot(ports, status.bootId, order.rebootedFrom);
  const journal = await openJournal(ports);
  if (journal !== undefined) refuseNotTakenBack(ports, journal);
  const expected = journal?.header.previousDeployment;
  if (expected !== undefined && status.booted.id !== expected) {
    throw fail(
      'WrongDeployment',
      `${ports.node} booted deployment ${status.booted.id}, expected ${expected}`,
    );
  }
  if (journal !== undefined) await proveUndone(journal, status);
  const from = await currentConfig(ports, order);
  // A forced update starts on, and returns to, a disk that does not match the config.
  const forced = journal?.header.forced === true || (await isForced(ports.files));
  if (from !== undefined && !forced) {
    await proveFilesBack(ports, { journal, status, from });
    await proveOsBack(ports, { journal, status, from });
  }
  const kept = (await journal?.kept()) ?? [];
  if (journal !== undefined) await endBack(ports, journal, status);
  await dropKeptConfigs(ports.files);
  return { bootId: status.bootId, ...(kept.length === 0 ? {} : { kept }) };
}

/** The before-images are still needed. @throws `RefusedRequest` */
function refuseNotTakenBack({ node }: HostPorts, journal: OpenJournal): void {
  if (markOf(journal, 'goingBack') !== undefined || journal.header.repair === true) return;
  const { name } = journal.header.target;
  throw fail('RefusedRequest', `${node} is not rolling back: ${name} is in progress there`);
}

async function endBack(ports: HostPorts, journal: OpenJournal, status: OsStatus): Promise<void> {
  const { before, previousDeployment } = journal.header;
  if (ports.os.managesOs) proveAsBefore(status, before);
  await proveKubelet(ports, journal);
  const armed = markOf(journal, 'armed');
  if (armed !== undefined && armed.expected !== previousDeployment) {
    await patiently(ports, `drop deployment ${armed.expected}`, () =>
      ports.os.cleanUp(armed.expected),
    );
  }
  await journal.close();
}

/**
 * Drops the staged deployment and the fetched configs. Undoes an update that this one took over;
 * leaves others alone.
 */
export async function discardStaged(
  ports: HostPorts,
  order: UpdateOrder,
): Promise<DiscardedUpdate> {
  const journal = await ports.journal.open();
  if (journal !== undefined) {
    const isUndone = await undoTakenOver(ports, journal, order);
    return isUndone ? current(ports) : { unsettled: true };
  }
  await ports.os.discard();
  await dropKeptConfigs(ports.files);
  await atBest(ports, 'cannot forget old answers', () => forgetResults(ports.files));
  return current(ports);
}

async function current({ files }: HostPorts): Promise<DiscardedUpdate> {
  const config = await readCurrentConfig(files);
  return config === undefined ? {} : { currentConfig: config.reference.name };
}
