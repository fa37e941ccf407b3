/**
 * The journal compared with the booted deployment, when a process starts. Decided only here, so
 * that an unexpected reboot is adopted or undone by rule.
 *
 * On image-based systems `/etc` belongs to a deployment. The new one gets the running one's files
 * only at the shutdown, and the old one keeps them: after a rollback, its `/etc` must be undone
 * once more.
 */

import { fail } from '../../core/errors';
import { expiredText } from '../orders/expiry';
import { changesOs } from '../update/plan-update';
import {
  type Deployment,
  type HostPorts,
  markOf,
  type OpenJournal,
  type OsStatus,
  type UpdateMark,
} from '../ports';

/** A machine that needs more boots would boot for ever. */
const MOST_BOOTS_BACK = 3;

type Standing =
  /** Orders continue: nothing has happened since, or the update's own deployment is booted. */
  | { readonly kind: 'asLeft' }
  /** The machine rebooted by itself into a complete update: orders continue. */
  | { readonly kind: 'adopted' }
  /** Armed in this boot; its deployment is there. */
  | { readonly kind: 'rebootDue' }
  /** On the old deployment with files of the update, and no fitting boot to come. */
  | { readonly kind: 'undo'; readonly because: string; readonly again: boolean }
  /**
   * The old deployment is not booted, or not booted again. `reboots` = that boot may come;
   * otherwise it waits for an order.
   */
  | { readonly kind: 'goOnBack'; readonly reboots: boolean }
  /** A person chose another deployment: left alone. */
  | { readonly kind: 'foreign'; readonly expected: string; readonly previous: string }
  /** After too many boots the old deployment never came up. */
  | { readonly kind: 'stuck'; readonly boots: number };

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
      const because = back.because ?? 'it was being rolled back';
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
 * In the boot in which it began, a rollback reboots only if the request was complete: otherwise the
 * node may be in service, with pods. In any other boot the machine has lost its pods anyway.
 */
function mayBootBack(back: GoingBack, bootId: string): boolean {
  return back.bootId !== bootId || back.due === true;
}

export function isForeign(journal: OpenJournal, status: OsStatus): boolean {
  const isOld = status.booted.id === journal.header.previousDeployment;
  return !isOld && hasBooted(journal, status) && !isOfUpdate(journal, status);
}

/** The old one before anything was staged. */
function expectedId(journal: OpenJournal): string {
  const recorded = markOf(journal, 'armed')?.expected ?? markOf(journal, 'applied')?.deployment;
  return recorded ?? journal.header.previousDeployment;
}

/** May be another boot than the one in which the update began. */
function hasBooted(journal: OpenJournal, { bootId }: OsStatus): boolean {
  const { before } = journal.header;
  return markOf(journal, 'armed') !== undefined || before.bootId !== bootId;
}

function isOfUpdate(journal: OpenJournal, { booted }: OsStatus): boolean {
  const { plan, previousDeployment } = journal.header;
  const expected = expectedId(journal);
  if (expected !== previousDeployment) return booted.id === expected;
  // Only drivers without a lock can boot it before its ID was recorded.
  return plan.osImage !== undefined && plan.osImage.to === booted.image;
}

/**
 * To leave the update's deployment, or to end processes that have read the new files. A boot by
 * accident counts.
 */
export function backTakesBoot(journal: OpenJournal, { bootId, booted }: OsStatus): boolean {
  if (booted.id !== journal.header.previousDeployment) return true;
  const begun = markOf(journal, 'goingBack');
  const isNew = begun === undefined || begun.unseen === true;
  if (!isNew) return begun.bootId === bootId;
  const armed = markOf(journal, 'armed');
  return armed !== undefined && armed.bootId !== bootId;
}

/** By its boot, or by services that need a drain. */
export function backDisturbs(journal: OpenJournal, status: OsStatus): boolean {
  const haveServices = markOf(journal, 'servicesBegun') !== undefined;
  return backTakesBoot(journal, status) || (journal.header.plan.drain && haveServices);
}

/**
 * Why the machine began a rollback by itself; undefined = an order began it, or the update is not
 * the cause.
 */
export function failedAlone(journal: OpenJournal): string | undefined {
  return journal
    .marks()
    .flatMap((mark) => (mark.kind === 'goingBack' && mark.failed === true ? [mark.because] : []))
    .at(0);
}

function bootsBack(journal: OpenJournal): ReadonlySet<string> {
  const marks = journal.marks().flatMap((mark) => (mark.kind === 'goingBack' ? [mark.bootId] : []));
  return new Set(marks.filter((id) => id !== undefined));
}

export function isFirstBootBack(journal: OpenJournal, bootId: string): boolean {
  return [...bootsBack(journal)].every((id) => id === bootId);
}

/** A deployment by its ID and, if known, the digest of its image. */
export type NamedDeployment = Pick<Deployment, 'id' | 'digest'>;

/** The digest belongs to this ID. */
export function appliedDeployment(journal: OpenJournal, id: string): NamedDeployment {
  const { deployment, digest } = markOf(journal, 'applied') ?? {};
  return { id, ...(digest === undefined || id !== deployment ? {} : { digest }) };
}

export function isStaged({ id, digest }: NamedDeployment, { staged }: OsStatus): boolean {
  if (staged?.id !== id) return false;
  return digest === undefined || staged.digest === undefined || staged.digest === digest;
}

type Armed = Extract<UpdateMark, { kind: 'armed' }>;

/**
 * Only into the deployment that it was armed for, and while the order is valid: later the node may
 * be in service.
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
    // The request for the reboot is not complete.
    return armed.begun === true ? { kind: 'asLeft' } : stillDue(journal, armed, status, now);
  }
  if (booted.id === armed.expected) return { kind: 'asLeft' };
  // The shutdown was cut off before a missing deployment was in place. An existing one failed to
  // boot, and would fail again.
  const isThere = [rollback, staged, pending].some((other) => other?.id === armed.expected);
  const because = isThere
    ? `the machine booted deployment ${booted.id} again, expected ${armed.expected}`
    : `the machine went down before deployment ${armed.expected} was in place`;
  return { kind: 'undo', because, again: !isThere };
}

/**
 * An update without a reboot was complete when the machine rebooted: early units, such as the
 * network, have read the new files since.
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

function unarmed(journal: OpenJournal, status: OsStatus): Standing {
  const { bootId, booted } = status;
  const { before, previousDeployment } = journal.header;
  if (before.bootId === bootId) return { kind: 'asLeft' };
  if (booted.id !== previousDeployment) {
    // Only drivers without a lock get here.
    return { kind: 'goOnBack', reboots: true };
  }
  if (startedOnNewFiles(journal, status)) return { kind: 'adopted' };
  return {
    kind: 'undo',
    because: 'the machine rebooted by itself in the middle of it',
    again: true,
  };
}

/** A person booted another deployment. */
export function foreignText(node: string, journal: OpenJournal, { booted }: OsStatus): string {
  const { previousDeployment, target } = journal.header;
  const expected = expectedId(journal);
  return (
    `${node} booted deployment ${booted.id}, which is neither the one of ${target.name} (${expected}) ` +
    `nor the one before (${previousDeployment}): a person chose it, and nothing was changed; ` +
    'boot one of the two to have the update finished or undone'
  );
}

/** @throws `WrongDeployment` when neither the update's deployment nor the old one is booted */
export function refuseForeign(
  ports: Pick<HostPorts, 'node'>,
  journal: OpenJournal,
  status: OsStatus,
): void {
  if (!isForeign(journal, status)) return;
  throw fail('WrongDeployment', foreignText(ports.node, journal, status));
}
