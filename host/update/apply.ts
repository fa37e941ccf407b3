import { SHADOW_PATH } from '../../adapters/host';
import { fail, failureName, messageOf } from '../../core/errors';
import type { UpdatePlan } from '../../core/node/plan';
import { sameArguments, sameImage } from '../../core/os';
import type { AppliedUpdate, UpdateOrder } from '../../workflows/contracts/host';
import { currentConfig, desiredConfig } from './fetch-config';
import { enablementAfter, enablementBefore, withoutIgnitionPresets } from '../services/enablement';
import { openJournal } from '../transaction/open-journal';
import { pathChanges, type PathChanges } from '../paths/path-changes';
import { lookWithinFiveMinutes } from '../retries';
import { changesOs, planFor } from './plan-update';
import {
  type Deployment,
  type HostPorts,
  markOf,
  type OpenJournal,
  type PathChange,
  type UpdateHeader,
} from '../ports';
import { diskFailure } from '../disk-failure';
import { type HostConfig, sameConfig } from '../records/configs';
import { heldPaths, hostPaths } from '../paths/appended';
import { changeWithDirectories } from '../paths/directories';
import { FORCE_CONSUMED, isForced } from './force-file';
import { beforeUpdate } from './prove-running';
import { refuseMissingUnits } from '../services/missing-units';
import { refuseDrift } from './prepare';
import { isOfRun, takenBack } from '../records/accepted-runs';
import { refuseUnsettled } from '../settle/settle-for-order';
import { undoHere } from '../transaction/undo';
import { CORE_USER, passwordHash } from '../paths/wanted-paths';

/**
 * Brings the disk to the ordered config, and the staged deployment to its kernel arguments and
 * extensions. Safe to repeat: remains of a crash are undone and made again.
 *
 * @throws `EarlierUpdateLost` when an update must first be rolled back by a reboot, `ApplyFailed`
 *   naming the path, `ConfigDrift` when the disk changed since it was prepared, `Unreconcilable`
 *   when a running machine cannot take the change
 */
export async function applyUpdate(
  ports: HostPorts,
  order: UpdateOrder & { readonly reconnectSeconds?: number },
): Promise<AppliedUpdate> {
  const found = await openJournal(ports);
  const from = await currentConfig(ports, order);
  if (found !== undefined && isAppliedFor(found, order)) return countsOf(found.header.plan);
  if (found !== undefined) {
    refuseTakenBack(found, order);
    const status = await lookWithinFiveMinutes(ports);
    refuseUnsettled(ports, found, status, order);
    await undoHere(ports, found, status);
    await found.close();
  }
  const to = await desiredConfig(ports, order);
  if (from !== undefined) await refuseDrift(ports, from);
  const status = await lookWithinFiveMinutes(ports);
  const forced = await isForced(ports.files);
  const plan = planFor(ports, order, from, to, status, forced);
  refuseUnreconcilable(ports, to, plan);
  const { reconnectSeconds } = order;
  const within = reconnectSeconds === undefined ? {} : { reconnectSeconds };
  const header: UpdateHeader = {
    orderId: order.orderId,
    node: ports.node,
    ...(ports.namespace === undefined ? {} : { namespace: ports.namespace }),
    driver: ports.os.name,
    target: to.reference,
    ...(from === undefined ? {} : { previous: from.reference }),
    previousDeployment: status.booted.id,
    before: beforeUpdate(status),
    ...(forced ? { forced } : {}),
    ...within,
    plan,
  };
  const journal = await ports.journal.begin(order.orderId, header);
  try {
    const changes = await writeConfig(ports, journal, { from, to, forced });
    await applyOs(ports, plan, { from, to });
    const { id, digest } = await enableUnits(ports, journal, plan, { from, to, forced }, changes);
    await journal.mark({
      ...{ kind: 'applied', deployment: id },
      ...(digest === undefined ? {} : { digest }),
    });
    return { files: changes.files.size, units: changes.units.size };
  } catch (error) {
    throw namedFailure(ports, error);
  }
}

/** The host would count as being on a config of which a part is not applied. */
function refuseUnreconcilable(
  { node }: HostPorts,
  { reference: { name } }: HostConfig,
  { reconcilable }: UpdatePlan,
): void {
  if (reconcilable.ok) return;
  throw fail('Unreconcilable', `${name} cannot be applied to ${node}: ${reconcilable.reason}`);
}

interface FromTo {
  readonly from: HostConfig | undefined;
  readonly to: HostConfig;
}

interface Wanted extends FromTo {
  readonly forced: boolean;
}

async function writeConfig(
  ports: HostPorts,
  journal: OpenJournal,
  { from, to, forced }: Wanted,
): Promise<PathChanges> {
  const old = from === undefined ? undefined : await heldPaths(ports.files, from.spec);
  const wanted = await hostPaths(ports.files, to.spec);
  const planned = await pathChanges(ports, old, wanted);

  // Links depend on the unit files that are about to change.
  const before = await enablementBefore(ports, from?.spec, to.spec, planned.units);
  await journal.record(await ports.systemd.enablementPaths(before));
  await ports.systemd.setEnablement(before);

  const password = await passwordChange(ports, from, to);
  const consumed = forced ? [FORCE_CONSUMED] : [];
  const spent = [...consumed, ...(await withoutIgnitionPresets(ports, wanted))];
  const changes = [...planned.changes, ...password, ...spent];
  // Another account or password that is added meanwhile survives an undo.
  const isWhole = planned.changes.some(({ path }) => path === SHADOW_PATH);
  await makeChanges(ports, journal, to, changes, isWhole ? {} : { [SHADOW_PATH]: CORE_USER });

  return planned;
}

/**
 * By the units of the next boot, because the staged image may have others.
 *
 * @returns the deployment of the next boot
 */
async function enableUnits(
  ports: HostPorts,
  journal: OpenJournal,
  plan: UpdatePlan,
  { from, to, forced }: Wanted,
  { units: touched }: PathChanges,
): Promise<Deployment> {
  const { booted, staged } = await lookWithinFiveMinutes(ports);
  const boots = (changesOs(plan) ? staged : undefined) ?? booted;
  const now = ports.systemd;
  const isStaged = boots.id !== booted.id;
  const next = isStaged ? await now.atBootOf(boots.id) : now;
  if (plan.extensions.install.length > 0) {
    await refuseMissingUnits(ports, from, to, isStaged ? boots.id : undefined);
  }
  const units = (to.spec.config.systemd?.units ?? []).map(({ name }) => name);
  const again = forced ? new Set(units) : touched;
  const changes = await enablementAfter({ now, next }, from?.spec, to.spec, again);
  await journal.record(await next.enablementPaths(changes));
  await next.setEnablement(changes);
  return boots;
}

/** All before-images are durable before the first change. */
async function makeChanges(
  ports: HostPorts,
  journal: OpenJournal,
  to: HostConfig,
  changes: readonly PathChange[],
  entryOf: Readonly<Record<string, string>>,
): Promise<void> {
  await journal.record(
    changes.map(({ path }) => path),
    entryOf,
  );
  const { signal, progress } = ports.context();
  let done = 0;
  const onChange = (path: string): void => progress(`${(done += 1)} of ${changes.length}: ${path}`);
  try {
    await changeWithDirectories(ports, changes, { spec: to.spec, step: { signal, onChange } });
  } catch (error) {
    throw diskFailure(error);
  }
}

/** A removed user is locked. */
async function passwordChange(
  ports: HostPorts,
  from: HostConfig | undefined,
  to: HostConfig,
): Promise<readonly PathChange[]> {
  const before = from === undefined ? undefined : passwordHash(from.spec);
  const after = passwordHash(to.spec);
  if (before === undefined && after === undefined) return [];
  const hash = after ?? '';
  if (await ports.users.hasPassword(CORE_USER, hash)) return [];
  const state = await ports.users.shadowWith(CORE_USER, hash, ports.now());
  return [{ path: SHADOW_PATH, state }];
}

/** Nothing is in force before the reboot. */
async function applyOs(ports: HostPorts, plan: UpdatePlan, { from, to }: FromTo): Promise<void> {
  if (!ports.os.managesOs || !changesOs(plan)) return;
  // The staged deployment must be ours.
  const { staged } = await lookWithinFiveMinutes(ports);
  const isOurs = plan.osImage !== undefined && sameImage(staged?.image ?? '', plan.osImage.to);
  if (staged !== undefined && !isOurs) await ports.os.discard();
  const old = from?.spec ?? { kernelArguments: [], extensions: [] };
  // Layered packages come from this image, too.
  const image = to.spec.baseOSExtensionsContainerImage || undefined;
  if (plan.osImage !== undefined) await ports.os.stage(plan.osImage.to, ports.context(), image);
  if (plan.kernelType !== undefined)
    await ports.os.setKernelType(plan.kernelType.to, ports.context(), image);
  const { add, remove } = plan.kernelArguments;
  const reordered = !sameArguments(old.kernelArguments, to.spec.kernelArguments);
  if (add.length + remove.length > 0 || reordered) {
    await ports.os.setKernelArguments(
      { from: old.kernelArguments, to: to.spec.kernelArguments },
      ports.context(),
    );
  }
  if (plan.extensions.install.length + plan.extensions.uninstall.length > 0) {
    const packages = image === undefined ? {} : { image };
    await ports.os.setExtensions(
      { from: old.extensions, to: to.spec.extensions, ...packages },
      ports.context(),
    );
  }
}

/**
 * The journal, because a full disk may have prevented the record of the run. After a power cut the
 * update may be repeated.
 */
function refuseTakenBack(journal: OpenJournal, { orderId }: UpdateOrder): void {
  const back = markOf(journal, 'goingBack');
  if (back?.because === undefined || back.again === true) return;
  if (isOfRun(orderId, journal.header.orderId)) throw takenBack(orderId, back.because);
}

function isAppliedFor(journal: OpenJournal, order: UpdateOrder): boolean {
  return (
    sameConfig(journal.header.target, order.config) &&
    markOf(journal, 'applied') !== undefined &&
    markOf(journal, 'goingBack') === undefined
  );
}

function countsOf(plan: UpdatePlan): AppliedUpdate {
  return {
    files: plan.files.changed.length + plan.files.removed.length,
    units: plan.units.changed.length + plan.units.removed.length,
  };
}

/** A cancellation is returned unchanged. */
function namedFailure(ports: HostPorts, error: unknown): unknown {
  if (failureName(error) !== undefined || ports.context().signal.aborted) return error;
  return Object.assign(fail('ApplyFailed', messageOf(error)), { cause: error });
}
