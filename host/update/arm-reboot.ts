import { fail } from '../../core/errors';
import type { ArmedReboot, UpdateOrder } from '../../workflows/contracts/host';
import { applyUpdate } from './apply';
import { leaveWayBack } from './fallback';
import { openJournal } from '../transaction/open-journal';
import { lookWithinFiveMinutes, patiently } from '../retries';
import { refuseExpired } from '../orders/expiry';
import { type HostPorts, markOf, type OpenJournal, type OsStatus } from '../ports';
import { sameConfig } from '../records/configs';
import {
  appliedDeployment,
  isStaged,
  type NamedDeployment,
} from '../transaction/unfinished-update';

/** For reboots that power cuts interrupt. */
const MOST_ATTEMPTS = 3;

/**
 * The reboot follows when this activity is acknowledged. Safe to repeat: the boot ID in the
 * journal's mark shows whether the reboot is over.
 *
 * @throws `OsCommandFailed` when there is no deployment to boot
 */
export async function armReboot(
  ports: HostPorts,
  order: UpdateOrder & { readonly reconnectSeconds?: number },
): Promise<ArmedReboot> {
  await applyAgainIfInterrupted(ports, order);
  const journal = await journalOf(ports, order);
  const { bootId } = await lookWithinFiveMinutes(ports);
  const armed = markOf(journal, 'armed');
  if (armed !== undefined && armed.bootId !== bootId) return { bootId: armed.bootId };
  await arm(ports, journal, order, { attempt: 1, reconnectSeconds: order.reconnectSeconds });
  return { bootId };
}

interface Arming {
  readonly attempt: number;
  readonly reconnectSeconds: number | undefined;
}

/**
 * The first mark precedes the changes, so that a crash between them is recognised. Only the second
 * makes the reboot due: a failed order must not reboot a node in service.
 */
async function arm(
  ports: HostPorts,
  journal: OpenJournal,
  order: UpdateOrder,
  { attempt, reconnectSeconds }: Arming,
): Promise<void> {
  const status = await lookWithinFiveMinutes(ports);
  const expected = expectedDeployment(journal, status);
  await proveNext(ports, status, expected);
  const armed = markOf(journal, 'armed');
  // Another update that took over orders the reboot anew.
  const isNew = armed === undefined || armed.notAfter !== order.notAfter;
  const mark = {
    kind: 'armed',
    bootId: status.bootId,
    expected: expected.id,
    notAfter: order.notAfter,
    ...(attempt === 1 ? {} : { attempt }),
    ...(reconnectSeconds === undefined ? {} : { reconnectSeconds }),
  } as const;
  if (isNew) await journal.mark({ ...mark, begun: true });
  await leaveWayBack(ports.files, {
    ...{ booted: status.booted.id, expected: expected.id },
    seconds: reconnectSeconds,
  });
  await patiently(ports, 'release the staged deployment', () => ports.os.finalize());
  if (expected.id !== status.booted.id) await proveReleased(ports, expected.id);
  if (isNew || armed.begun === true) await journal.mark(mark);
  ports.reboot.request(`update to ${order.config.name}`);
}

/** As of when everything was written. */
function expectedDeployment(journal: OpenJournal, { booted, staged }: OsStatus): NamedDeployment {
  const { deployment } = markOf(journal, 'applied') ?? {};
  const id = markOf(journal, 'armed')?.expected ?? deployment ?? staged?.id ?? booted.id;
  return appliedDeployment(journal, id);
}

/**
 * The reboot boots any staged deployment: an update without one discards it.
 *
 * @throws `OsCommandFailed`
 */
async function proveNext(
  { os, node }: HostPorts,
  status: OsStatus,
  expected: NamedDeployment,
): Promise<void> {
  const { booted, staged } = status;
  if (expected.id === booted.id) {
    if (staged !== undefined) await os.discard();
    return;
  }
  if (!isStaged(expected, status)) throw notStaged(node, expected.id, staged);
}

/** The reboot would disturb the node in vain. @throws `OsCommandFailed` */
async function proveReleased(ports: HostPorts, expected: string): Promise<void> {
  const { staged } = await lookWithinFiveMinutes(ports);
  if (staged?.id !== expected || staged.locked) throw notStaged(ports.node, expected, staged);
}

function notStaged(node: string, expected: string, staged: OsStatus['staged']): Error {
  const isLocked = staged?.id === expected && staged.locked;
  const other = `${staged?.id ?? ''} (${staged?.image ?? 'no image'})`;
  const what = staged === undefined ? 'is gone' : isLocked ? 'is locked' : `is ${other}`;
  return fail(
    'OsCommandFailed',
    `${node} cannot reboot into ${expected}: the staged deployment ${what}`,
  );
}

/**
 * After an unexpected reboot between apply and arm: the files were restored before the kubelet
 * started, and the staged deployment is gone.
 */
export async function applyAgainIfInterrupted(ports: HostPorts, order: UpdateOrder): Promise<void> {
  const journal = await openJournal(ports);
  const isInterrupted =
    journal !== undefined &&
    sameConfig(journal.header.target, order.config) &&
    markOf(journal, 'applied') !== undefined &&
    markOf(journal, 'armed') === undefined &&
    markOf(journal, 'goingBack')?.again === true;
  if (isInterrupted) await applyAgain(ports, order, journal);
}

/**
 * After a power cut before the new deployment was in place: the old one booted, and its files were
 * restored. A few times, while the order is valid.
 *
 * @throws `NotYetRebooted` when the machine will reboot once more, `OrderRefused` when the order
 *   has expired
 */
export async function goOnIfInterrupted(
  ports: HostPorts,
  order: UpdateOrder & { readonly rebootedFrom?: string },
  { journal, status }: { readonly journal: OpenJournal; readonly status: OsStatus },
): Promise<void> {
  if (!sameConfig(journal.header.target, order.config)) return;
  const armed = markOf(journal, 'armed');
  const back = markOf(journal, 'goingBack');
  const attempt = armed?.attempt ?? 1;
  const { bootId, booted } = status;
  if (back === undefined && armed?.bootId === bootId && attempt > 1) {
    if (armed.begun === true) {
      // An earlier order was interrupted here.
      refuseExpired(ports, order);
      await arm(ports, journal, order, { attempt, reconnectSeconds: armed.reconnectSeconds });
    }
    throw fail('NotYetRebooted', `${ports.node} is to reboot again`, { bootId });
  }
  // An unarmed update after its reboot was interrupted here, too.
  const isCutOff = back === undefined ? armed === undefined : back.again === true;
  if (order.rebootedFrom === undefined || !isCutOff || attempt >= MOST_ATTEMPTS) return;
  refuseExpired(ports, order);
  if (armed !== undefined && armed.expected !== booted.id) await ports.os.cleanUp(armed.expected);
  await applyAgain(ports, order, journal);
  const next = await journalOf(ports, order);
  await arm(ports, next, order, {
    attempt: attempt + 1,
    reconnectSeconds: next.header.reconnectSeconds,
  });
  const because = back?.because ?? 'it was interrupted before it could';
  throw fail('NotYetRebooted', `${ports.node} reboots again: ${because}`, { bootId });
}

/** Orders to verify do not say how long the machine may be without Temporal: the journal does. */
function applyAgain(
  ports: HostPorts,
  order: UpdateOrder,
  { header }: OpenJournal,
): Promise<unknown> {
  const { reconnectSeconds } = header;
  return applyUpdate(ports, {
    ...order,
    ...(reconnectSeconds === undefined ? {} : { reconnectSeconds }),
  });
}

/** @throws `RefusedRequest` when nothing is applied */
export async function journalOf(ports: HostPorts, order: UpdateOrder): Promise<OpenJournal> {
  const journal = await openJournal(ports);
  const isReady =
    journal !== undefined &&
    sameConfig(journal.header.target, order.config) &&
    markOf(journal, 'applied') !== undefined &&
    markOf(journal, 'goingBack') === undefined;
  if (isReady) return journal;
  const because = journal === undefined ? undefined : markOf(journal, 'goingBack')?.because;
  const why = because === undefined ? '' : `: ${because}`;
  throw fail('RefusedRequest', `${order.config.name} is not applied on ${ports.node}${why}`);
}
