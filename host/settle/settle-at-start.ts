/**
 * Settles a host when it starts, before orders and before the kubelet: partly written files, an
 * armed reboot that did not happen, a wrong deployment.
 */

import { fail } from '../../core/errors';
import { dropFallback, forgetUnstarted, leaveWayBack, whyUnstarted } from '../update/fallback';
import { forgetNotInPlace, whyNotInPlace } from './finalization';
import { openJournal } from '../transaction/open-journal';
import {
  atBest,
  type HostPorts,
  markOf,
  type OpenJournal,
  type OsStatus,
  type StepContext,
} from '../ports';
import { endRepair } from '../drift/unfinished-repair';
import { changesUnits } from '../services/services';
import { foreignText, isFirstBootBack, standingOf } from '../transaction/unfinished-update';
import { differsHere, isOfPaths, undoBeforeBoot, undoHere } from '../transaction/undo';

/** Sentences for the log and the console. */
export interface Settlement {
  readonly what?: string;
  /** Why a reboot is due: nothing should start before it. */
  readonly reboot?: string;
  /** Left alone: a deployment that a person chose. */
  readonly foreign?: string;
}

type StartPorts = Pick<HostPorts, 'node' | 'files' | 'journal' | 'os' | 'systemd' | 'warn' | 'now'>;

/**
 * Safe to repeat. Files that the machine should not run on are restored at once; the update learns
 * of it when it asks.
 *
 * @throws `RollbackFailed` when the journal is damaged or the rollback does not end
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
      // Services have started on these files: an ordered rollback must run their actions.
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
        what: `rolled back the update to ${target.name}: ${because}`,
        ...(isBootDue
          ? { reboot: 'programs that started before the files were restored start again' }
          : {}),
      };
    }
    case 'goOnBack':
      await callOffFallback(ports);
      await goOnBack(ports, journal, status, standing);
      return standing.reboots
        ? {
            what: `continued to roll back the update to ${target.name}`,
            reboot: 'the update is rolled back',
          }
        : {
            what: `continued to roll back the update to ${target.name}; its reboot waits for an order`,
          };
    case 'foreign':
      return { foreign: foreignText(ports.node, journal, status) };
    case 'stuck':
      throw fail(
        'RollbackFailed',
        `${ports.node} booted ${standing.boots} times to roll back ${target.name}, and is still on deployment ${status.booted.id}`,
      );
  }
}

/** The process itself can roll back, so the shell script is not needed. */
async function callOffFallback(ports: StartPorts): Promise<void> {
  await atBest(ports, 'cannot remove the fallback of the next boot', async () => {
    await dropFallback(ports.files);
    await forgetUnstarted(ports.files);
  });
}

/** A later order may have undone a requested reboot. */
export async function rebootIsDue(
  ports: Pick<StartPorts, 'node' | 'journal' | 'os' | 'now'>,
): Promise<boolean> {
  const journal = await openJournal(ports);
  if (journal === undefined) return false;
  const standing = standingOf(journal, await ports.os.status(), ports.now());
  if (standing.kind === 'goOnBack') return standing.reboots;
  return standing.kind === 'rebootDue';
}

/**
 * The mark precedes the changes: without it, a crash would boot the old deployment or prevent a
 * rollback.
 */
async function releaseNext(
  { files, os }: StartPorts,
  journal: OpenJournal,
  { booted, staged }: OsStatus,
): Promise<void> {
  const { expected = booted.id, reconnectSeconds } = markOf(journal, 'armed') ?? {};
  await leaveWayBack(files, { booted: booted.id, expected, seconds: reconnectSeconds });
  const isForNone = expected === booted.id;
  if (!isForNone) await os.finalize();
  // Another program staged it: the reboot would boot it.
  else if (staged !== undefined) await os.discard();
}

/** No activity runs. */
function atStart(): StepContext {
  return { signal: new AbortController().signal, progress: () => undefined };
}

/**
 * Early units (network, udev, modules) may have read the files; one more boot starts all of them on
 * the old files. It is recorded as due first, because nothing on disk shows it after the undo.
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
  // An order came in this boot and has not requested another one.
  const waitsForOrder = begun?.unseen === true && begun.bootId === bootId;
  const isBootDue = isOther && !waitsForOrder && (await differsHere(journal, status));
  if (isBootDue || begun === undefined) {
    const due = isBootDue ? { bootId, due: true as const } : {};
    // The first mark of a rollback has the cause.
    const failed = begun === undefined ? { failed: true as const } : {};
    await journal.mark({ kind: 'goingBack', because, ...(again ? { again } : failed), ...due });
  }
  // Files first: no OS program or blocked path may prevent the rest.
  const stays = await pathsThatStay(() => undoHere(ports, journal, status));
  if (changesUnits(journal.header.plan)) await ports.systemd.daemonReload();
  await ports.os.discard();
  // The boot loader fell back from it, and would try it again as the default.
  const { booted, pending } = status;
  const isOurs = pending !== undefined && pending.id === markOf(journal, 'armed')?.expected;
  if (isOurs) await ports.os.rollback(booted.id);
  if (stays !== undefined) throw stays;
  return isBootDue;
}

async function pathsThatStay(undo: () => Promise<void>): Promise<Error | undefined> {
  try {
    await undo();
    return undefined;
  } catch (error) {
    if (isOfPaths(error)) return error;
    throw error;
  }
}

/** The mark precedes the changes: the process that wrote it may have died. */
async function goOnBack(
  ports: StartPorts,
  journal: OpenJournal,
  status: OsStatus,
  { reboots }: { readonly reboots: boolean },
): Promise<void> {
  const { bootId, booted, pending } = status;
  const { previousDeployment } = journal.header;
  const last = markOf(journal, 'goingBack');
  // A path that one boot could not restore stays at the next.
  const isAlone = reboots && isFirstBootBack(journal, bootId);
  if (last?.bootId !== bootId) {
    const because = last?.because ?? 'the machine booted the update before it was told to';
    await journal.mark({ kind: 'goingBack', bootId, due: true, because });
  }
  const stays = await pathsThatStay(() => undoBeforeBoot(ports, journal, status, { isAlone }));
  await ports.os.discard();
  // The next boot may be the deployment from which the boot loader fell back.
  if (booted.id !== previousDeployment || pending !== undefined) {
    await ports.os.rollback(previousDeployment);
  }
  if (stays !== undefined) throw stays;
}
