/** Inspect and prepare: everything that can be found out or downloaded before a node is disturbed. */

import { fail } from '../../core/errors';
import type { UpdatePlan } from '../../core/node/plan';
import type { HostOrder, PreparedUpdate } from '../../workflows/activity-contracts';
import { currentConfig, desiredConfig } from './configs';
import { findDrift } from './drift';
import { changesOs, planFor } from './plan';
import type { HostPorts, OsStatus } from './ports';
import { dropKeptConfigs, type HostConfig } from './records';
import { holds, sameConfig, settle } from './settle';
import { wantedPaths } from './wanted-paths';

/**
 * Settles half-done work, fetches and checks the config, compares the disk with the current config,
 * plans, and stages the OS image locked. The node is not disturbed by any of it. Running it twice is
 * safe: configs are kept, and a driver does not stage the same image again.
 *
 * @throws `ConfigDrift` naming the path, `ConfigFetchFailed`, `ConfigForbidden`, `DigestMismatch`,
 * `InvalidMachineConfig`, `Unreconcilable`, `RollbackFailed`
 */
export async function prepareUpdate(ports: HostPorts, order: HostOrder): Promise<PreparedUpdate> {
  const { progress } = ports.context();
  progress('looking at the host');
  const { what, takenOver } = await settle(ports, order);
  const settled = what === undefined ? {} : { settled: what };
  const from = await currentConfig(ports, order);
  const named = from === undefined ? {} : { currentConfig: from.reference.name };
  const status = await ports.os.status();
  const common = { bootId: status.bootId, ...named, ...settled };
  if (takenOver !== undefined) {
    return { ...common, alreadyOnTarget: false, plan: takenOver.header.plan };
  }

  if (
    from !== undefined &&
    sameConfig(from.reference, order.config) &&
    (await holds(ports, from))
  ) {
    await dropStaged(ports, status);
    await dropKeptConfigs(ports.files);
    return { ...common, alreadyOnTarget: true, plan: planFor(ports, order, from, from, status) };
  }
  if (from !== undefined) await refuseDrift(ports, from);

  const to = await desiredConfig(ports, order);
  // Decodes every file, so that bad content is found before anything is touched.
  wantedPaths(to.spec);
  const plan = planFor(ports, order, from, to, status);
  if (plan.reconcilable.ok) await stage(ports, plan, to, status);
  return { ...common, alreadyOnTarget: false, plan };
}

/** @throws `ConfigDrift` when the disk is not as the current config says */
export async function refuseDrift(ports: HostPorts, from: HostConfig): Promise<void> {
  const drift = await findDrift(ports, from.spec);
  if (drift === undefined) return;
  throw fail(
    'ConfigDrift',
    `unexpected on-disk state validating against ${from.reference.name}: ${drift.reason}`,
    { path: drift.path, config: from.reference.name },
  );
}

/** Stages the image, and drops what somebody else left staged. */
async function stage(
  ports: HostPorts,
  plan: UpdatePlan,
  to: HostConfig,
  status: OsStatus,
): Promise<void> {
  const { staged } = status;
  const isOurs = changesOs(plan) && plan.osImage !== undefined && staged?.image === plan.osImage.to;
  if (staged !== undefined && !isOurs) await ports.os.discard();
  if (plan.osImage !== undefined) {
    await ports.os.stage(to.spec.osImageURL, ports.context());
  }
}

async function dropStaged(ports: HostPorts, status: OsStatus): Promise<void> {
  if (status.staged !== undefined) await ports.os.discard();
}
