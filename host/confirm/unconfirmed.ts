/** Unconfirmed updates, and their rollback without an order. */

import { type Alone, goBack } from '../update/go-back';
import { isOfFirstBoot } from '../first-boot/first-boot';
import { openJournal } from '../transaction/open-journal';
import {
  atBest,
  type HostPorts,
  markOf,
  type OpenJournal,
  secondsUp,
  type UpdateHeader,
} from '../ports';
import { noteBackAlone } from '../records/accepted-runs';
import { startedOnNewFiles } from '../transaction/unfinished-update';

type Ports = Pick<HostPorts, 'node' | 'namespace' | 'journal' | 'os'>;

export interface CommitBy {
  readonly at: Date;
  /** Seconds of kernel uptime; absent: verified in another boot. */
  readonly uptime?: number;
}

export interface Unconfirmed {
  /** From the order; absent: the host's setting. */
  readonly reconnectSeconds?: number;
  /**
   * The commit of the verified update is to follow by then. After an answer later than that, the
   * machine stays, even if the update workflow is lost.
   */
  readonly commitBy?: CommitBy;
  /**
   * The update changed the task queue or the namespace of the machine's orders: none of this update
   * reaches it. A sentence.
   */
  readonly unreached?: string;
}

export interface UnconfirmedBoot extends Unconfirmed {
  /** The machine was in reach in this boot. */
  readonly isVerified?: true;
}

/**
 * An accidental boot counts, too: the first boot on new files may cut the machine off.
 *
 * @throws `RollbackFailed` when the journal is damaged
 */
export async function unconfirmedAfterReboot(ports: Ports): Promise<UnconfirmedBoot | undefined> {
  const journal = await openJournal(ports);
  if (journal === undefined || isDecided(journal)) return undefined;
  const { bootId } = await ports.os.status();
  const armed = markOf(journal, 'armed');
  const hasBooted =
    armed === undefined ? startedOnNewFiles(journal, { bootId }) : armed.bootId !== bootId;
  if (!hasBooted) return undefined;
  const isVerified = markOf(journal, 'verified')?.bootId === bootId;
  return {
    ...unconfirmed(ports, journal, bootId, armed ?? journal.header),
    ...(isVerified ? { isVerified } : {}),
  };
}

/**
 * The update that was written in this boot without an armed reboot: a service that reads its files
 * may cut the machine off. It waits for Temporal until its commit, or the end of a rollback in
 * place.
 *
 * @throws `RollbackFailed` when the journal is damaged
 */
export async function unconfirmedBeforeReboot(ports: Ports): Promise<Unconfirmed | undefined> {
  const journal = await openJournal(ports);
  if (journal === undefined) return undefined;
  if (isDecided(journal) && !isGoingBackAlone(journal)) return undefined;
  const { header } = journal;
  const armed = markOf(journal, 'armed');
  const isArmed = armed !== undefined && armed.begun !== true;
  if (isArmed || header.repair === true || isOfFirstBoot(header)) return undefined;
  const { bootId } = await ports.os.status();
  if (header.before.bootId !== bootId) return undefined;
  return unconfirmed(ports, journal, bootId, header);
}

/** Neither an answer of Temporal nor its absence changes the result. */
function isDecided(journal: OpenJournal): boolean {
  const verified = markOf(journal, 'verified');
  const isByProof = verified !== undefined && verified.commitBy === undefined;
  const isByMark = (['goingBack', 'committing'] as const).some(
    (kind) => markOf(journal, kind) !== undefined,
  );
  return isByProof || isByMark;
}

function commitTimeOf(journal: OpenJournal, bootId: string): CommitBy | undefined {
  const { commitBy, commitByUptime: uptime, bootId: of } = markOf(journal, 'verified') ?? {};
  if (commitBy === undefined) return undefined;
  return { at: new Date(commitBy), ...(uptime === undefined || of !== bootId ? {} : { uptime }) };
}

/** Also when the clock was set since the verification. */
export function isCommitOverdue(
  ports: Pick<HostPorts, 'uptime'>,
  { at, uptime }: CommitBy,
): boolean {
  return uptime === undefined ? at.getTime() <= Date.now() : uptime <= secondsUp(ports);
}

/**
 * After an answer later than the deadline, the verified update stays, also after a restart of this
 * process. Does nothing if it was decided or verified anew meanwhile.
 *
 * @throws `RollbackFailed` when the journal is damaged
 */
export async function decideByAnswer(ports: Ports, commitBy: CommitBy): Promise<void> {
  const journal = await openJournal(ports);
  if (journal === undefined || isDecided(journal)) return;
  const noted = markOf(journal, 'verified')?.commitBy;
  if (noted === undefined || Date.parse(noted) !== commitBy.at.getTime()) return;
  await journal.mark({ kind: 'verified' });
}

/** No order repeats such a rollback; it ends with the order that verifies it. */
function isGoingBackAlone(journal: OpenJournal): boolean {
  return markOf(journal, 'goingBack')?.because !== undefined;
}

function unconfirmed(
  ports: Ports,
  journal: OpenJournal,
  bootId: string,
  { reconnectSeconds }: Pick<Unconfirmed, 'reconnectSeconds'> = {},
): Unconfirmed {
  const isBack = markOf(journal, 'goingBack') !== undefined;
  const commitBy = isBack ? undefined : commitTimeOf(journal, bootId);
  const unreached = whyUnreached(ports, journal.header);
  return {
    ...(reconnectSeconds === undefined ? {} : { reconnectSeconds }),
    ...(commitBy === undefined ? {} : { commitBy }),
    ...(unreached === undefined ? {} : { unreached }),
  };
}

/** A config may change task queue and namespace, as with a drop-in of the worker. */
function whyUnreached(ports: Ports, header: UpdateHeader): string | undefined {
  // A first boot has no orders, and may set the name.
  if (isOfFirstBoot(header)) return undefined;
  const { node, namespace = ports.namespace } = header;
  if (node !== ports.node) {
    return `the update changed the name of the machine to ${ports.node}, and orders for ${node} do not reach it`;
  }
  if (ports.namespace !== undefined && namespace !== ports.namespace) {
    return `the update changed the Temporal namespace of the host worker to ${ports.namespace}, and orders in ${namespace} do not reach it`;
  }
  return undefined;
}

/**
 * Rolls back the update that this boot must confirm, or continues that. Requests a reboot, because
 * early services may have the new files.
 *
 * @param because - a sentence, kept for a later order
 * @returns false when the update was decided meanwhile
 * @throws `RollbackFailed` naming the path
 */
export async function goBackAlone(ports: HostPorts, because: string): Promise<boolean> {
  const journal = await openJournal(ports);
  if (journal === undefined || stays(journal)) return false;
  await takeBackForGood(ports, journal, { because, reboot: true });
  return true;
}

/**
 * Ends the orders of the update: a repeated step would cut the machine off again. Recorded at each
 * try, because the disk may be full.
 */
async function takeBackForGood(
  ports: HostPorts,
  journal: OpenJournal,
  alone: Alone,
): Promise<void> {
  const takenOverToo = markOf(journal, 'goingBack') === undefined;
  const note = () => noteBackAlone(ports.files, journal.header, { ...alone, takenOverToo });
  // First, so that it survives a crash. A full disk must not prevent the rollback.
  await atBest(ports, 'cannot record the rollback of the update', note);
  try {
    await goBack(ports, alone);
  } finally {
    await atBest(ports, 'cannot record that the update was rolled back', note);
  }
}

/** Reads only the journal: the update may have broken the OS program. */
function stays(journal: OpenJournal): boolean {
  // A repair follows only a finished update.
  if (journal.header.repair === true) return true;
  return markOf(journal, 'goingBack') === undefined && isDecided(journal);
}

/**
 * Rolls back the update of `unconfirmedBeforeReboot` without a reboot: its node may be in service.
 * Safe to repeat.
 *
 * @param because - a sentence, kept for a later order
 * @returns false when the update was decided meanwhile
 * @throws `RollbackFailed` naming the path, `ServiceFailed` naming the service
 */
export async function goBackInPlace(ports: HostPorts, because: string): Promise<boolean> {
  const journal = await openJournal(ports);
  if (journal === undefined || (await unconfirmedBeforeReboot(ports)) === undefined) return false;
  await takeBackForGood(ports, journal, { because, reboot: false });
  return true;
}
