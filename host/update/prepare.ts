/** Checks and downloads everything before the node is disturbed. */

import { fail } from '../../core/errors';
import type { UpdatePlan } from '../../core/node/plan';
import { sameImage } from '../../core/os';
import type { UpdateOrder, PreparedUpdate } from '../../workflows/contracts/host';
import { refuseForeignDeployment } from '../records/committed-deployment';
import { refuseLargePlan } from './config-limits';
import { currentConfig, desiredConfig } from './fetch-config';
import { findDrift } from '../drift/compare';
import { isForced } from './force-file';
import { refuseMissingUnits } from '../services/missing-units';
import { refuseWithoutWorker } from './next-worker';
import { checkPaths } from '../paths/path-checks';
import { lookWithinFiveMinutes } from '../retries';
import { changesOs, planFor } from './plan-update';
import { refuseMissingVersion } from './worker-version';
import type { HostPorts, OsStatus } from '../ports';
import { dropKeptConfigs, type HostConfig, sameConfig } from '../records/configs';
import { holds, settleForOrder } from '../settle/settle-for-order';

/**
 * Settles an unfinished update, checks config and disk, plans, and stages the OS image locked. Safe
 * to repeat: a driver does not stage the same image again.
 *
 * @throws `ApplyFailed`, `ConfigDrift` naming the path, `ConfigFetchFailed`, `ConfigForbidden`,
 *   `ConfigTooLarge`, `DigestMismatch`, `InvalidMachineConfig`, `Unreconcilable`, `RollbackFailed`,
 *   `WrongDeployment` when a person booted another deployment
 */
export async function prepareUpdate(ports: HostPorts, order: UpdateOrder): Promise<PreparedUpdate> {
  const { progress } = ports.context();
  progress('checking the host');
  const { what, underWay } = await settleForOrder(ports, order);
  const from = await currentConfig(ports, order);
  const named = from === undefined ? {} : { currentConfig: from.reference.name };
  const status = await lookWithinFiveMinutes(ports);
  const common = { bootId: status.bootId, ...named };
  if (underWay !== undefined) {
    const { plan, needsDrain } = underWay;
    // An undo that disturbs the node waits for the drain; another one follows if this update does
    // not go on.
    const left = needsDrain ? ({ unsettled: true } as const) : ({ tookOver: true } as const);
    return { ...common, ...settledText(what), alreadyOnTarget: false, plan, ...left };
  }

  await refuseForeignDeployment(ports, status);
  const forced = await isForced(ports.files);
  if (
    !forced &&
    from !== undefined &&
    sameConfig(from.reference, order.config) &&
    (await holds(ports, from))
  ) {
    const dropped = await dropStaged(ports, status);
    await dropKeptConfigs(ports.files);
    const plan = planFor(ports, order, from, from, status);
    return { ...common, ...settledText(what, dropped), alreadyOnTarget: true, plan };
  }
  if (from !== undefined) await refuseDrift(ports, from);

  const to = await desiredConfig(ports, order);
  await checkPaths(ports, from, to);
  await refuseMissingVersion(ports.files, to);
  const plan = planFor(ports, order, from, to, status, forced);
  refuseLargePlan(to, plan);
  if (!plan.reconcilable.ok)
    return { ...common, ...settledText(what), alreadyOnTarget: false, plan };
  const dropped = await stage(ports, plan, to, status);
  // The units of an extension are known when its packages are installed.
  if (plan.extensions.install.length === 0)
    await refuseMissingUnits(ports, from, to, await nextOf(ports, plan));
  return { ...common, ...settledText(what, dropped), alreadyOnTarget: false, plan };
}

/** Its units may differ from the running ones. */
async function nextOf(ports: HostPorts, plan: UpdatePlan): Promise<string | undefined> {
  return plan.osImage === undefined ? undefined : (await lookWithinFiveMinutes(ports)).staged?.id;
}

function settledText(...what: readonly (string | undefined)[]): { readonly settled?: string } {
  const said = what.filter((sentence) => sentence !== undefined);
  return said.length === 0 ? {} : { settled: said.join('; ') };
}

/** @throws `ConfigDrift` when the disk differs from the current config, without force */
export async function refuseDrift(ports: HostPorts, from: HostConfig): Promise<void> {
  if (await isForced(ports.files)) return;
  const drift = await findDrift(ports, from.spec);
  if (drift === undefined) return;
  throw fail(
    'ConfigDrift',
    `unexpected on-disk state validating against ${from.reference.name}: ${drift.reason}`,
    { path: drift.path, config: from.reference.name },
  );
}

/** Returns a sentence if it replaced another staged deployment. */
async function stage(
  ports: HostPorts,
  plan: UpdatePlan,
  to: HostConfig,
  status: OsStatus,
): Promise<string | undefined> {
  if (changesOs(plan)) {
    const kernel = plan.osImage !== undefined || plan.kernelType !== undefined;
    await ports.os.checkBoot?.({ kernel }, ports.context());
  }
  const { staged } = status;
  const isOurs =
    plan.osImage !== undefined &&
    sameImage(staged?.image ?? '', plan.osImage.to) &&
    changesOs(plan);
  const dropped = isOurs ? undefined : await dropStaged(ports, status);
  if (plan.osImage !== undefined) {
    const { osImageURL, baseOSExtensionsContainerImage: extensions } = to.spec;
    await ports.os.checkImage(osImageURL, ports.context());
    await ports.os.stage(osImageURL, ports.context(), extensions || undefined);
    await refuseWithoutWorker(ports, osImageURL);
  }
  return dropped;
}

async function dropStaged(ports: HostPorts, { staged }: OsStatus): Promise<string | undefined> {
  if (staged === undefined) return undefined;
  await ports.os.discard();
  return `dropped deployment ${staged.id} (${staged.image ?? 'no image'}), which was staged`;
}
