/**
 * Updates of which nobody has said yet whether they hold, and the way back that the machine takes without an order when
 * nobody can say so any more: the update may be what cut it off.
 */

import { type Alone, goBack } from './back';
import { isOfFirstBoot } from './first-boot';
import { openJournal } from './open-journal';
import {
  atBest,
  type HostPorts,
  markOf,
  type OpenJournal,
  secondsUp,
  type UpdateHeader,
} from './ports';
import { noteBackAlone } from './runs';
import { startedOnNewFiles } from './standing';

type Ports = Pick<HostPorts, 'node' | 'namespace' | 'journal' | 'os'>;

/** Until when the commit of a verified update is to follow. */
export interface CommitBy {
  readonly at: Date;
  /** The same in seconds of the kernel; absent = it was verified in another boot. */
  readonly uptime?: number;
}

/** An update that may have cut the machine off. */
export interface Unconfirmed {
  /** From the order; absent = as this host is set up. */
  readonly reconnectSeconds?: number;
  /**
   * It was verified, and its commit is to follow by then: with an answer after that, the machine is in reach and stays,
   * also when whoever was to order the commit is lost.
   */
  readonly commitBy?: CommitBy;
  /**
   * Since the update the machine asks for orders by another name than they come to, or somewhere else: it may reach
   * Temporal, but no order of this update reaches it. A sentence that says so.
   */
  readonly unreached?: string;
}

/** One that this boot has to confirm. */
export interface UnconfirmedBoot extends Unconfirmed {
  /** It was verified in this very boot, so somebody was in reach by then. */
  readonly isVerified?: true;
}

/**
 * The update that this boot has to confirm, until its commit; undefined when there is none, or none any more. A boot by
 * accident counts, too: the first one on new files may cut the machine off, whoever asked for it.
 *
 * @throws `RollbackFailed` when the journal is damaged
 */
export async function awaitsConfirmation(ports: Ports): Promise<UnconfirmedBoot | undefined> {
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
 * The update that was written in this very boot, wholly or in part, and whose reboot is not armed, if it takes one: a
 * service that it restarts, or one that saw a file change, may cut the machine off. It waits for word until its commit,
 * and when the machine takes it back by itself, in place, and has not come to the end of that.
 *
 * @throws `RollbackFailed` when the journal is damaged
 */
export async function awaitsWord(ports: Ports): Promise<Unconfirmed | undefined> {
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

/** Nothing that the machine hears, or does not hear, changes what becomes of it. */
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

/** Whether that time is over, also where the clock was set since the proof, as an update that mends the time of day may do. */
export function isCommitOverdue(
  ports: Pick<HostPorts, 'uptime'>,
  { at, uptime }: CommitBy,
): boolean {
  return uptime === undefined ? at.getTime() <= Date.now() : uptime <= secondsUp(ports);
}

/**
 * Temporal has answered after this time, so the verified update stays, also after the next start of this process: the
 * update may be lost, and its node be in service again. Nothing is done where it was decided, or verified anew, meanwhile.
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

/**
 * Nobody gives this way back as an order once more: the machine, or what it found at an order of another kind, has begun
 * it, and says why. That it has ended is seen by the order that proves it; until then it may be repeated.
 */
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

/** Orders go to a name, in a namespace of Temporal; a config may change either, as with a drop-in of the worker. */
function whyUnreached(ports: Ports, header: UpdateHeader): string | undefined {
  // Nobody orders a first boot, and it may be what names the machine.
  if (isOfFirstBoot(header)) return undefined;
  const { node, namespace = ports.namespace } = header;
  if (node !== ports.node) {
    return `the machine goes by the name ${ports.node} since the update, and no order to ${node} reaches it`;
  }
  if (ports.namespace !== undefined && namespace !== ports.namespace) {
    return `the host worker asks for orders in the namespace ${ports.namespace} of Temporal since the update, and those of ${namespace} do not reach it`;
  }
  return undefined;
}

/**
 * Takes the update back that this boot has to confirm. Asks for a reboot: what started early may have the new files.
 * A way back that has begun is gone on with.
 *
 * @param because - a sentence for whoever asks later
 * @returns false when the update was decided for meanwhile, and nothing was done
 * @throws `RollbackFailed` naming the path
 */
export async function goBackAlone(ports: HostPorts, because: string): Promise<boolean> {
  const journal = await openJournal(ports);
  if (journal === undefined || stays(journal)) return false;
  await takeBackForGood(ports, journal, { because, reboot: true });
  return true;
}

/**
 * Over for good, as after an order: a step that is repeated would write everything again, and cut the machine off
 * again. Noted at each try, as the disk may be full; but an update that has come since the first one may wait for the end.
 */
async function takeBackForGood(
  ports: HostPorts,
  journal: OpenJournal,
  alone: Alone,
): Promise<void> {
  const takenOverToo = markOf(journal, 'goingBack') === undefined;
  const note = () => noteBackAlone(ports.files, journal.header, { ...alone, takenOverToo });
  // First, so that a crash leaves it; but a full disk keeps nothing from being taken back.
  await atBest(ports, 'cannot note that the update is taken back', note);
  try {
    await goBack(ports, alone);
  } finally {
    await atBest(ports, 'cannot note that the update was taken back', note);
  }
}

/** Nobody but the journal is asked: the update may have broken the program of the operating system. */
function stays(journal: OpenJournal): boolean {
  // A repair comes only after the update before it has ended.
  if (journal.header.repair === true) return true;
  return markOf(journal, 'goingBack') === undefined && isDecided(journal);
}

/**
 * Takes the update back that `awaitsWord`, without a reboot: its node may be in service, and it may be Temporal that is
 * away and not the machine. May be repeated.
 *
 * @param because - a sentence for whoever asks later
 * @returns false when it was decided meanwhile, and nothing was done
 * @throws `RollbackFailed` naming the path, `ServiceFailed` naming the service
 */
export async function goBackInPlace(ports: HostPorts, because: string): Promise<boolean> {
  const journal = await openJournal(ports);
  if (journal === undefined || (await awaitsWord(ports)) === undefined) return false;
  await takeBackForGood(ports, journal, { because, reboot: false });
  return true;
}
