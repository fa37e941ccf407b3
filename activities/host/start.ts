/**
 * What a host looks after by itself when it starts, before any order arrives and before the kubelet
 * does: half-written state, a reboot that was armed and did not happen, one that ended in the wrong
 * deployment.
 */

import { fail } from '../../core/errors';
import { dropFallback, forgetUnstarted, leaveWayBack, whyUnstarted } from './fallback';
import { forgetNotInPlace, whyNotInPlace } from './finalization';
import { openJournal } from './open-journal';
import {
  atBest,
  type HostPorts,
  markOf,
  type OpenJournal,
  type OsStatus,
  type StepContext,
} from './ports';
import { endRepair } from './repair-end';
import { changesUnits } from './services';
import { foreignText, isFirstBootBack, standingOf } from './standing';
import { differsHere, isOfPaths, undoBeforeBoot, undoHere } from './undo';

/** What settling did, in sentences for the log and for the person at the console. */
export interface Settlement {
  /** Absent = there was nothing to do. */
  readonly what?: string;
  /** Why a reboot is due: nothing should start before it. */
  readonly reboot?: string;
  /** Seen and left alone: only a person knows what they wanted. */
  readonly foreign?: string;
}

type StartPorts = Pick<HostPorts, 'node' | 'files' | 'journal' | 'os' | 'systemd' | 'warn' | 'now'>;

/**
 * Settles what the last boot, or the last process, left behind. Safe to repeat.
 *
 * Files that the machine should not run on are put back at once; the update is told when it asks.
 *
 * @throws `RollbackFailed` when the journal is damaged or the way back does not end
 */
export async function settleAtStart(ports: StartPorts): Promise<Settlement> {
  const journal = await openJournal(ports);
  if (journal === undefined) return {};
  const status = await ports.os.status();
  if (journal.header.repair === true) {
    return { what: await endRepair({ ...ports, context: atStart }, journal, status) };
  }
  const standing = standingOf(journal, status, ports.now());
  const { target } = journal.header;
  switch (standing.kind) {
    case 'asLeft':
      return {};
    case 'adopted':
      // What reads these files has started on them: a way back that is ordered has to tell it of the old ones.
      if (markOf(journal, 'servicesBegun') === undefined) {
        await journal.mark({ kind: 'servicesBegun' });
      }
      return { what: `adopted the update to ${target.name}: the reboot found all of it in place` };
    case 'rebootDue':
      await releaseNext(ports, journal, status);
      return { reboot: `update to ${target.name}` };
    case 'undo': {
      const notInPlace = await whyNotInPlace(ports, journal, status);
      const because = (await whyUnstarted(ports.files)) ?? notInPlace ?? standing.because;
      const again = standing.again && notInPlace === undefined;
      const isBootDue = await undoAtStart(ports, journal, status, { because, again });
      if (notInPlace !== undefined) await forgetNotInPlace(ports);
      await callOffFallback(ports);
      return {
        what: `took the update to ${target.name} back: ${because}`,
        ...(isBootDue
          ? { reboot: 'what started before the files were put back starts again' }
          : {}),
      };
    }
    case 'goOnBack':
      await callOffFallback(ports);
      await goOnBack(ports, journal, status, standing);
      return standing.reboots
        ? {
            what: `went on taking the update to ${target.name} back`,
            reboot: 'the update is taken back',
          }
        : {
            what: `went on taking the update to ${target.name} back; its reboot waits for an order`,
          };
    case 'foreign':
      return { foreign: foreignText(ports.node, journal, status) };
    case 'stuck':
      throw fail(
        'RollbackFailed',
        `${ports.node} booted ${standing.boots} times to go back from ${target.name}, and is still on deployment ${status.booted.id}`,
      );
  }
}

/** Whoever takes the machine back needs no shell to do it. */
async function callOffFallback(ports: StartPorts): Promise<void> {
  await atBest(ports, 'cannot call off the way back of last resort', async () => {
    await dropFallback(ports.files);
    await forgetUnstarted(ports.files);
  });
}

/** Whether a reboot that was asked for is due still: whatever was carried out since may have undone it. */
export async function rebootIsDue(
  ports: Pick<StartPorts, 'node' | 'journal' | 'os' | 'now'>,
): Promise<boolean> {
  const journal = await openJournal(ports);
  if (journal === undefined) return false;
  const standing = standingOf(journal, await ports.os.status(), ports.now());
  if (standing.kind === 'goOnBack') return standing.reboots;
  return standing.kind === 'rebootDue';
}

/** The mark comes before the deeds: without them the machine would boot what it has booted, or find no way back. */
async function releaseNext(
  { files, os }: StartPorts,
  journal: OpenJournal,
  { booted, staged }: OsStatus,
): Promise<void> {
  const { expected = booted.id, reconnectSeconds } = markOf(journal, 'armed') ?? {};
  await leaveWayBack(files, { booted: booted.id, expected, seconds: reconnectSeconds });
  const isForNone = expected === booted.id;
  if (!isForNone) await os.finalize();
  // Somebody else's: the reboot would take it.
  else if (staged !== undefined) await os.discard();
}

/** Nobody listens yet, and nobody can call it off. */
function atStart(): StepContext {
  return { signal: new AbortController().signal, progress: () => undefined };
}

/**
 * The kubelet has not read the files yet, but systemd has, and whatever starts before this: the
 * network, udev, modules. Only another boot starts all of them on the old files, and one is enough:
 * the next one finds nothing to change. It is noted as due before the files are put back, because
 * afterwards nothing on the disk tells that it is.
 *
 * @returns whether that boot is due
 */
async function undoAtStart(
  ports: StartPorts,
  journal: OpenJournal,
  status: OsStatus,
  { because, again }: { readonly because: string; readonly again: boolean },
): Promise<boolean> {
  const { bootId } = status;
  // In the boot that wrote the files, nothing started on them by itself.
  const writtenIn = markOf(journal, 'armed')?.bootId ?? journal.header.before.bootId;
  const isOther = writtenIn !== bootId;
  const begun = markOf(journal, 'goingBack');
  // An order came to this boot, when the node had started already, and has not asked for another one.
  const waitsForOrder = begun?.unseen === true && begun.bootId === bootId;
  const isBootDue = isOther && !waitsForOrder && (await differsHere(journal, status));
  if (isBootDue || begun === undefined) {
    const due = isBootDue ? { bootId, due: true as const } : {};
    // What is only gone on with has said before whether the update is to blame.
    const failed = begun === undefined ? { failed: true as const } : {};
    await journal.mark({ kind: 'goingBack', because, ...(again ? { again } : failed), ...due });
  }
  // Files first: nothing that an OS program says keeps them from going back, nor a path that stays the programs.
  const stays = await pathsThatStay(() => undoHere(ports, journal, status));
  if (changesUnits(journal.header.plan)) await ports.systemd.daemonReload();
  await ports.os.discard();
  // The boot loader fell back from it. It is still the default, and the next boot would try it again.
  const { booted, pending } = status;
  const isOurs = pending !== undefined && pending.id === markOf(journal, 'armed')?.expected;
  if (isOurs) await ports.os.rollback(booted.id);
  if (stays !== undefined) throw stays;
  return isBootDue;
}

/** @returns why paths could not be put back */
async function pathsThatStay(undo: () => Promise<void>): Promise<Error | undefined> {
  try {
    await undo();
    return undefined;
  } catch (error) {
    if (isOfPaths(error)) return error;
    throw error;
  }
}

/** The mark comes before the deeds here too: whoever left it may have died between the two. */
async function goOnBack(
  ports: StartPorts,
  journal: OpenJournal,
  status: OsStatus,
  { reboots }: { readonly reboots: boolean },
): Promise<void> {
  const { bootId, booted, pending } = status;
  const { previousDeployment } = journal.header;
  const last = markOf(journal, 'goingBack');
  // A boot that left a path as it is does not put it back the next time either.
  const isAlone = reboots && isFirstBootBack(journal, bootId);
  if (last?.bootId !== bootId) {
    const because = last?.because ?? 'the machine booted the update before it was told to';
    await journal.mark({ kind: 'goingBack', bootId, due: true, because });
  }
  const stays = await pathsThatStay(() => undoBeforeBoot(ports, journal, status, { isAlone }));
  await ports.os.discard();
  // The next boot may also be that of one from which the boot loader fell back.
  if (booted.id !== previousDeployment || pending !== undefined) {
    await ports.os.rollback(previousDeployment);
  }
  if (stays !== undefined) throw stays;
}
