/**
 * Where an unfinished update stands when a process starts: what the journal says against what the
 * machine booted. Decided here and nowhere else, so that a reboot by somebody else, at any moment, is
 * adopted or undone by rule.
 *
 * On image-based systems `/etc` belongs to a deployment. What is written while the old one runs
 * reaches the new one only when that is finalized, at the shutdown, and it stays in the old one: after
 * any way back to it, its `/etc` has to be undone once more.
 */

import { fail } from '../../core/errors';
import { expiredText } from './orders';
import { changesOs } from './plan';
import {
  type Deployment,
  type HostPorts,
  markOf,
  type OpenJournal,
  type OsStatus,
  type UpdateMark,
} from './ports';

/** The way back may take this many boots; a machine that needs more would boot for ever. */
export const MOST_BOOTS_BACK = 3;

export type Standing =
  /** Orders go on from here: nothing happened since, or the update's own deployment came up. */
  | { readonly kind: 'asLeft' }
  /** The machine rebooted by itself, and what it booted is whole: orders go on. */
  | { readonly kind: 'adopted' }
  /** The reboot was armed in this very boot, did not happen, and what it is for is there. */
  | { readonly kind: 'rebootDue' }
  /** On the old deployment with files of the update, and no boot to come that would fit them. */
  | { readonly kind: 'undo'; readonly because: string; readonly again: boolean }
  /**
   * The way back was begun, and the old deployment is not up yet, or not booted afresh. `reboots` = that
   * boot may come now; otherwise it waits for an order.
   */
  | { readonly kind: 'goOnBack'; readonly reboots: boolean }
  /** Somebody chose a deployment that is neither the update's nor the one before: left alone. */
  | { readonly kind: 'foreign'; readonly expected: string; readonly previous: string }
  /** The way back does not end: booted too often, the old deployment never came up. */
  | { readonly kind: 'stuck'; readonly boots: number };

/** Where the update of the journal stands on a machine that booted this, now. */
export function standingOf(journal: OpenJournal, status: OsStatus, now: Date): Standing {
  const { bootId, booted } = status;
  const { previousDeployment } = journal.header;
  const armed = markOf(journal, 'armed');
  const isOld = booted.id === previousDeployment;
  if (isForeign(journal, status)) {
    return { kind: 'foreign', expected: expectedId(journal), previous: previousDeployment };
  }
  const back = markOf(journal, 'goingBack');
  if (back !== undefined) {
    if (isOld && (back.unseen === true || back.bootId !== bootId)) {
      const because = back.because ?? 'it was being taken back';
      return { kind: 'undo', because, again: back.again === true };
    }
    const boots = bootsBack(journal);
    return boots.size >= MOST_BOOTS_BACK && !boots.has(bootId)
      ? { kind: 'stuck', boots: boots.size }
      : { kind: 'goOnBack', reboots: mayBootBack(back, bootId) };
  }
  return armed === undefined ? unarmed(journal, status) : afterArming(journal, armed, status, now);
}

type GoingBack = Extract<UpdateMark, { kind: 'goingBack' }>;

/**
 * In the boot in which it was begun, the way back boots only if that was asked for to the end. An order that
 * failed before is repeated, or its update has given up: then the node may be in service again, full of
 * pods, hours before a process starts. In any other boot the machine has lost its pods anyway.
 */
function mayBootBack(back: GoingBack, bootId: string): boolean {
  return back.bootId !== bootId || back.due === true;
}

/** Whether somebody chose a deployment that is neither the update's nor the one before. */
export function isForeign(journal: OpenJournal, status: OsStatus): boolean {
  const isOld = status.booted.id === journal.header.previousDeployment;
  return !isOld && hasBooted(journal, status) && !isOfUpdate(journal, status);
}

/** What should come up, as far as it was written down; the old one before anything was staged. */
function expectedId(journal: OpenJournal): string {
  const recorded = markOf(journal, 'armed')?.expected ?? markOf(journal, 'applied')?.deployment;
  return recorded ?? journal.header.previousDeployment;
}

/** Whether this may be another boot than the one in which the update began. */
function hasBooted(journal: OpenJournal, { bootId }: OsStatus): boolean {
  const { before } = journal.header;
  return markOf(journal, 'armed') !== undefined || before.bootId !== bootId;
}

/** Whether the booted deployment is the one that the update made. */
function isOfUpdate(journal: OpenJournal, { booted }: OsStatus): boolean {
  const { plan, previousDeployment } = journal.header;
  const expected = expectedId(journal);
  if (expected !== previousDeployment) return booted.id === expected;
  // Only drivers that cannot lock what they stage boot it before it was written down.
  return plan.osImage !== undefined && plan.osImage.to === booted.image;
}

/**
 * Whether the way back takes a boot that has not been yet: out of the update's deployment, or so that
 * nothing runs that has read the new files. A machine that has booted so already, by itself or in an
 * attempt whose answer got lost, does not do it twice.
 */
export function backTakesBoot(journal: OpenJournal, { bootId, booted }: OsStatus): boolean {
  if (booted.id !== journal.header.previousDeployment) return true;
  const begun = markOf(journal, 'goingBack');
  const isNew = begun === undefined || begun.unseen === true;
  if (!isNew) return begun.bootId === bootId;
  const armed = markOf(journal, 'armed');
  return armed !== undefined && armed.bootId !== bootId;
}

/** Whether the way back disturbs a node in service: by its boot, or by services that took a drain, too. */
export function backDisturbs(journal: OpenJournal, status: OsStatus): boolean {
  const haveServices = markOf(journal, 'servicesBegun') !== undefined;
  return backTakesBoot(journal, status) || (journal.header.plan.drain && haveServices);
}

/**
 * Why the machine has begun the way back by itself, when the update is to blame; undefined = an order began it, or an
 * accident did.
 */
export function failedAlone(journal: OpenJournal): string | undefined {
  return journal
    .marks()
    .flatMap((mark) => (mark.kind === 'goingBack' && mark.failed === true ? [mark.because] : []))
    .at(0);
}

/** Boots in which the way back was gone on with. */
function bootsBack(journal: OpenJournal): ReadonlySet<string> {
  const marks = journal.marks().flatMap((mark) => (mark.kind === 'goingBack' ? [mark.bootId] : []));
  return new Set(marks.filter((id) => id !== undefined));
}

/** Whether the way back was begun in this very boot. */
export function isFirstBootBack(journal: OpenJournal, bootId: string): boolean {
  return [...bootsBack(journal)].every((id) => id === bootId);
}

/** A deployment by its name and, where that is known, by what is in it. */
export type NamedDeployment = Pick<Deployment, 'id' | 'digest'>;

/** The deployment that the update made, once everything was written; the digest goes with this name. */
export function appliedDeployment(journal: OpenJournal, id: string): NamedDeployment {
  const { deployment, digest } = markOf(journal, 'applied') ?? {};
  return { id, ...(digest === undefined || id !== deployment ? {} : { digest }) };
}

/** Whether this very deployment is staged, locked or not. */
export function isStaged({ id, digest }: NamedDeployment, { staged }: OsStatus): boolean {
  if (staged?.id !== id) return false;
  return digest === undefined || staged.digest === undefined || staged.digest === digest;
}

type Armed = Extract<UpdateMark, { kind: 'armed' }>;

/**
 * A reboot is due only into what it was armed for: anything else disturbs the node for nothing. And only
 * as long as the order holds: after that nobody keeps the node out of service for it. An update that
 * waits for this machine all the same makes everything again.
 */
function stillDue(
  journal: OpenJournal,
  { expected, notAfter }: Armed,
  status: OsStatus,
  now: Date,
): Standing {
  const expired = expiredText(notAfter, now);
  if (expired !== undefined) {
    return { kind: 'undo', because: `the order to reboot ${expired}`, again: true };
  }
  const { booted, staged } = status;
  const isNext = expected === booted.id || isStaged(appliedDeployment(journal, expected), status);
  if (isNext) return { kind: 'rebootDue' };
  const instead =
    staged === undefined
      ? 'nothing is staged'
      : `staged is ${staged.id} (${staged.image ?? 'no image'})`;
  return {
    kind: 'undo',
    because: `its reboot is for deployment ${expected}, but ${instead}`,
    again: true,
  };
}

function afterArming(journal: OpenJournal, armed: Armed, status: OsStatus, now: Date): Standing {
  const { bootId, booted, rollback, staged, pending } = status;
  if (armed.bootId === bootId) {
    // Its order failed, or is repeated: until then nobody has asked for the reboot.
    return armed.begun === true ? { kind: 'asLeft' } : stillDue(journal, armed, status, now);
  }
  if (booted.id === armed.expected) return { kind: 'asLeft' };
  // A deployment that is nowhere never got into place: the shutdown that does it was cut off. One that
  // is there did not come up, and would not the next time.
  const isThere = [rollback, staged, pending].some((other) => other?.id === armed.expected);
  const because = isThere
    ? `the machine booted deployment ${booted.id} again, expected ${armed.expected}`
    : `the machine went down before deployment ${armed.expected} was in place`;
  return { kind: 'undo', because, again: !isThere };
}

/**
 * Whether an update that takes no reboot was whole when the machine rebooted by itself: whatever starts
 * early, the network too, has read the new files since.
 */
export function startedOnNewFiles(
  journal: OpenJournal,
  { bootId }: Pick<OsStatus, 'bootId'>,
): boolean {
  const { before, plan, repair } = journal.header;
  const isOtherBoot = before.bootId !== bootId;
  const isWhole =
    markOf(journal, 'applied') !== undefined && markOf(journal, 'armed') === undefined;
  return isOtherBoot && isWhole && repair !== true && !plan.reboot && !changesOs(plan);
}

/** A reboot that no order asked for, unless it is still the same boot. */
function unarmed(journal: OpenJournal, status: OsStatus): Standing {
  const { bootId, booted } = status;
  const { before, previousDeployment } = journal.header;
  if (before.bootId === bootId) return { kind: 'asLeft' };
  if (booted.id !== previousDeployment) {
    // Only drivers that cannot lock what they stage come here.
    return { kind: 'goOnBack', reboots: true };
  }
  if (startedOnNewFiles(journal, status)) return { kind: 'adopted' };
  return {
    kind: 'undo',
    because: 'the machine rebooted by itself in the middle of it',
    again: true,
  };
}

/** The sentence about a machine on which somebody booted a deployment of their own choice. */
export function foreignText(node: string, journal: OpenJournal, { booted }: OsStatus): string {
  const { previousDeployment, target } = journal.header;
  const expected = expectedId(journal);
  return (
    `${node} booted deployment ${booted.id}, which is neither the one of ${target.name} (${expected}) ` +
    `nor the one before (${previousDeployment}): somebody chose it, and nothing was changed; ` +
    'boot one of the two to have the update finished or undone'
  );
}

/** @throws `WrongDeployment` when the machine runs neither the update's deployment nor the old one */
export function refuseForeign(
  ports: Pick<HostPorts, 'node'>,
  journal: OpenJournal,
  status: OsStatus,
): void {
  if (!isForeign(journal, status)) return;
  throw fail('WrongDeployment', foreignText(ports.node, journal, status));
}
