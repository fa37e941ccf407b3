/** The way back: the journal undone byte for byte, the old deployment booted, and proof of both. */

import { fail, failureName, messageOf } from '../../core/errors';
import type {
  DiscardedUpdate,
  GoneBack,
  HostOrder,
  VerifiedBack,
} from '../../workflows/host-contracts';
import { proveFilesBack, proveOsBack, proveUndone } from './back-proof';
import { currentConfig } from './configs';
import { dropFallback } from './fallback';
import { isForced } from './force';
import { refuseSameBoot } from './finish';
import { openJournal } from './open-journal';
import { forgetResults } from './orders';
import { lookAtOs, patiently } from './patience';
import {
  atBest,
  type HostPorts,
  kernelBootId,
  markOf,
  type OpenJournal,
  type OsStatus,
} from './ports';
import { proveAsBefore, proveKubelet } from './proof';
import { dropKeptConfigs, readCurrentConfig } from './records';
import { undoTakenOver } from './settle';
import { tellOfOldFiles } from './services';
import { backTakesBoot, refuseForeign } from './standing';
import { isOfPaths, undoBeforeBoot } from './undo';

/** A way back that the machine takes by itself. */
export interface Alone {
  readonly because: string;
  readonly reboot: boolean;
}

/**
 * Undoes the update. Files and links at once; the deployment by a reboot, if the new one is booted.
 * systemd and the services that may have the new files are told of the old ones, unless the reboot
 * tells them. Safe to repeat: what is undone is undone.
 *
 * @param alone - when no order asked for it: why, a sentence for later, and whether the machine boots in any case
 * @throws `RollbackFailed` naming the path, unless the machine leaves this deployment or boots by itself, `ServiceFailed`
 * naming the service, `WrongDeployment` when a person booted a deployment of their own, `OsCommandFailed`
 * when files and units are back, services were told, and the operating system is not
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
    // Nobody repeats what no order asked for: whatever process starts next must go on to the end.
    const boot = alone === undefined ? { bootId } : { bootId, due: true as const };
    await journal.mark({
      kind: 'goingBack',
      ...(rebooting ? boot : {}),
      ...(why === undefined ? {} : { because: why }),
      ...blame(alone, begun),
    });
  }
  await atBest(ports, 'cannot call off the way back of last resort', () =>
    dropFallback(ports.files),
  );
  // Files first: nothing that an OS program says keeps them from going back.
  try {
    await undoBeforeBoot(ports, journal, status, { isAlone: alone?.reboot === true });
  } catch (error) {
    // What is back counts only once systemd and the services know.
    if (isOfPaths(error)) await tellAtBest(ports, journal);
    throw error;
  }
  if (!rebooting) await tellAndDiscard(ports, journal);
  else {
    await discardBefore(ports);
    // The next boot may also be that of one from which the boot loader fell back.
    if (booted.id !== header.previousDeployment || pending !== undefined) {
      await patiently(ports, `choose deployment ${header.previousDeployment}`, () =>
        ports.os.rollback(header.previousDeployment),
      );
    }
    await noteDue(journal, bootId);
    ports.reboot.request('the update is taken back');
  }
  return { rebooting, bootId, ...(begun?.because === undefined ? {} : { because: begun.because }) };
}

/** A machine that goes back by itself does so because of the update, unless an order had begun the way back. */
function blame(alone: unknown, begun: unknown): { readonly failed?: true } {
  return alone === undefined || begun !== undefined ? {} : { failed: true };
}

/**
 * From here on the reboot comes about even if the process that was asked for it dies. Not sooner: an order
 * that fails on its way here may be given up, and its node be put back into service as it is.
 */
async function noteDue(journal: OpenJournal, bootId: string): Promise<void> {
  const begun = markOf(journal, 'goingBack');
  if (begun?.bootId === bootId && begun.due === true) return;
  await journal.mark({ ...begun, kind: 'goingBack', bootId, due: true });
}

/**
 * Services run on the new files until they are told, so that comes first, and neither keeps the other
 * from being done.
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
  const back = `files and units are as before ${journal.header.target.name}, and services were told`;
  const text = `${back}; ${stillStaged(dropped.reason)}`;
  throw Object.assign(fail('OsCommandFailed', text), { cause: dropped.reason as unknown });
}

/**
 * What is locked does not take over at the reboot, so it does not keep the machine from it.
 *
 * @throws `OsCommandFailed` when the reboot would boot what cannot be dropped
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
  return `what is staged could not be dropped: ${messageOf(error)}`;
}

/** One minute: long enough for somebody else's transaction, short beside the time of the way back. */
const LOOKS_BEFORE_FILES = 12;

/** The state of the operating system; if it does not tell it, what does not need it goes back first. */
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
    const text = `${back}; the operating system is not, its driver fails: ${messageOf(error)}`;
    throw Object.assign(fail('OsCommandFailed', text), { cause: error });
  }
}

/**
 * Puts back what is on the disk, and tells systemd and services, whichever deployment this is. Not
 * noted as done: that is noted for a deployment by its name.
 *
 * @returns why paths are not back; whether that counts depends on the deployment
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
  await atBest(ports, 'cannot drop what is staged', () => ports.os.discard());
  await tellAtBest(ports, journal);
  return notBack;
}

function tellAtBest(ports: HostPorts, journal: OpenJournal): Promise<void> {
  return atBest(ports, 'services after the way back', () => tellOfOldFiles(ports, journal));
}

function discard(ports: HostPorts): Promise<void> {
  return patiently(ports, 'drop what is staged', () => ports.os.discard());
}

/**
 * Proves that the host is where it was, drops the deployment of the update, and then the journal: only
 * now are the before-images not needed any more.
 *
 * @throws `NotYetRebooted`, `WrongDeployment`, `VerifyFailed` naming the path, `RefusedRequest` when
 * the update that is under way was not taken back
 */
export async function verifyBack(
  ports: HostPorts,
  order: HostOrder & { readonly rebootedFrom?: string },
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
  // A forced update begins on a disk that is not as the config says, and that is where it goes back to.
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

/** Its before-images are needed yet. @throws `RefusedRequest` */
function refuseNotTakenBack({ node }: HostPorts, journal: OpenJournal): void {
  if (markOf(journal, 'goingBack') !== undefined || journal.header.repair === true) return;
  const { name } = journal.header.target;
  throw fail('RefusedRequest', `${node} is not on its way back: ${name} is under way there`);
}

/** The last part of the way back; each of it may be repeated. */
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
 * Drops the staged deployment and the fetched configs. An update that an earlier one has applied, and that
 * this one had only taken over, is undone; others are left alone.
 */
export async function discardStaged(ports: HostPorts, order: HostOrder): Promise<DiscardedUpdate> {
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
