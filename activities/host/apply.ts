/** Apply: files, units, keys, password and the staged deployment, all through the undo journal. */

import { SHADOW_PATH } from '../../adapters/host';
import { fail, failureName, messageOf } from '../../core/errors';
import type { UpdatePlan } from '../../core/node/plan';
import type { AppliedUpdate, HostOrder } from '../../workflows/activity-contracts';
import { currentConfig, desiredConfig } from './configs';
import { enablementAfter, enablementBefore } from './enablement';
import type { PathChange } from './originals';
import { pathChanges, type PathChanges } from './path-changes';
import { changesOs, planFor } from './plan';
import { type HostPorts, markOf, type OpenJournal, type UpdateHeader } from './ports';
import { ancestors, type HostConfig } from './records';
import { prepareDirectory } from './directories';
import { refuseDrift } from './prepare';
import { sameConfig } from './settle';
import { CORE_USER, passwordHash, wantedPaths } from './wanted-paths';

/**
 * Brings the disk to the ordered config and the staged deployment to its kernel arguments and
 * extensions. What a crash left behind is undone and done again, so running it twice is safe; once
 * all of it is there, it does nothing. Stops between two changes when it is cancelled: `goBack` undoes.
 *
 * @throws `ApplyFailed` naming the path, `ConfigDrift` when the disk changed since it was prepared
 */
export async function applyUpdate(ports: HostPorts, order: HostOrder): Promise<AppliedUpdate> {
  const from = await currentConfig(ports, order);
  const to = await desiredConfig(ports, order);
  const found = await ports.journal.open();
  if (found !== undefined && isAppliedFor(found, order)) return countsOf(found.header.plan);
  if (found !== undefined) {
    await found.undo();
    await found.close();
  }
  if (from !== undefined) await refuseDrift(ports, from);
  const status = await ports.os.status();
  const plan = planFor(ports, order, from, to, status);
  const header: UpdateHeader = {
    orderId: order.orderId,
    target: to.reference,
    ...(from === undefined ? {} : { previous: from.reference }),
    previousDeployment: status.booted.id,
    plan,
  };
  const journal = await ports.journal.begin(order.orderId, header);
  try {
    const changes = await writeConfig(ports, journal, { from, to });
    await applyOs(ports, plan, { from, to });
    await journal.mark({ kind: 'applied' });
    return { files: changes.files.size, units: changes.units.size };
  } catch (error) {
    throw namedFailure(ports, error);
  }
}

interface FromTo {
  readonly from: HostConfig | undefined;
  readonly to: HostConfig;
}

/** Writes everything of a config that is a path: files, units, links, keys, password. */
async function writeConfig(
  ports: HostPorts,
  journal: OpenJournal,
  { from, to }: FromTo,
): Promise<PathChanges> {
  const old = from === undefined ? undefined : wantedPaths(from.spec);
  const planned = await pathChanges(ports, old, wantedPaths(to.spec));

  // Links first: which ones there are depends on the unit files that are about to change.
  const before = await enablementBefore(ports, from?.spec, to.spec, planned.units);
  await journal.record(await ports.systemd.enablementPaths(before));
  await ports.systemd.setEnablement(before);

  const password = await passwordChange(ports, from, to);
  await makeChanges(ports, journal, [...planned.changes, ...password]);

  const after = await enablementAfter(ports, from?.spec, to.spec, planned.units);
  await journal.record(await ports.systemd.enablementPaths(after));
  await ports.systemd.setEnablement(after);
  return planned;
}

/** One sync for all before-images, then the changes; cancellation is heard between two of them. */
async function makeChanges(
  ports: HostPorts,
  journal: OpenJournal,
  changes: readonly PathChange[],
): Promise<void> {
  await journal.record(changes.map(({ path }) => path));
  const { signal, progress } = ports.context();
  for (const [index, { path, state }] of changes.entries()) {
    signal.throwIfAborted();
    progress(`${index + 1} of ${changes.length}: ${path}`);
    await changePath(ports, path, state);
  }
}

async function changePath(
  ports: HostPorts,
  path: string,
  state: PathChange['state'],
): Promise<void> {
  const { files } = ports;
  try {
    if (state.kind === 'absent') return await files.remove(path);
    for (const directory of ancestors(path)) await prepareDirectory(ports, directory);
    if (state.kind === 'symlink') await files.writeLink(path, state.target);
    else if (state.kind === 'file') await files.writeFile(path, state);
  } catch (error) {
    if (failureName(error) !== undefined) throw error;
    throw Object.assign(fail('ApplyFailed', `write ${path}: ${messageOf(error)}`, { path }), {
      cause: error,
    });
  }
}

/** The password of `core` is a line of the shadow file; a user that goes away is locked. */
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
  return [{ path: SHADOW_PATH, state: await ports.users.shadowWith(CORE_USER, hash) }];
}

/** All of it goes to the staged deployment; nothing is in force before the reboot. */
async function applyOs(ports: HostPorts, plan: UpdatePlan, { from, to }: FromTo): Promise<void> {
  if (!ports.os.managesOs || !changesOs(plan)) return;
  const old = from?.spec ?? { kernelArguments: [], extensions: [] };
  if (plan.osImage !== undefined) await ports.os.stage(plan.osImage.to, ports.context());
  if (plan.kernelType !== undefined) await ports.os.setKernelType(plan.kernelType.to);
  const { add, remove } = plan.kernelArguments;
  const reordered = !sameList(old.kernelArguments, to.spec.kernelArguments);
  if (add.length + remove.length > 0 || reordered) {
    await ports.os.setKernelArguments({
      from: old.kernelArguments,
      to: to.spec.kernelArguments,
    });
  }
  if (plan.extensions.install.length + plan.extensions.uninstall.length > 0) {
    await ports.os.setExtensions(to.spec.extensions);
  }
}

function isAppliedFor(journal: OpenJournal, order: HostOrder): boolean {
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

/** Whatever went wrong while writing is named; cancellation stays what it is. */
function namedFailure(ports: HostPorts, error: unknown): unknown {
  if (failureName(error) !== undefined || ports.context().signal.aborted) return error;
  return Object.assign(fail('ApplyFailed', messageOf(error)), { cause: error });
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((entry, index) => entry === b[index]);
}
