/** From applied to committed: service actions, verification, commit. */

import { fail } from '../../core/errors';
import type {
  GoneBack,
  HostActivities,
  UpdateOrder,
  VerifiedHost,
} from '../../workflows/contracts/host';
import { applyAgainIfInterrupted, goOnIfInterrupted, journalOf } from './arm-reboot';
import { currentConfig, desiredConfig } from './fetch-config';
import { findDrift, findOsDrift } from '../drift/compare';
import { openJournal } from '../transaction/open-journal';
import { lookAtOs } from '../retries';
import {
  type HostPorts,
  kernelBootId,
  markOf,
  type OpenJournal,
  type OsStatus,
  secondsUp,
} from '../ports';
import { proveKubelet, proveRunning } from './prove-running';
import { proveVersion } from './worker-version';
import { dropKeptConfigs, readCurrentConfig, sameConfig } from '../records/configs';
import { performActions, runningServices } from '../services/services';
import { commit, hasBegunToCommit } from '../settle/settle-for-order';
import { proveUnits } from '../services/unit-health';

/**
 * Not for an update that takes over one that ran all actions.
 *
 * @throws `ServiceFailed` naming the service
 */
export async function performServiceActions(ports: HostPorts, order: UpdateOrder): Promise<void> {
  await applyAgainIfInterrupted(ports, order);
  const journal = await journalOf(ports, order);
  if (markOf(journal, 'services') !== undefined) return;
  // An action that fails, or crashes the host, must be undone, too.
  const { actions } = journal.header.plan;
  if (markOf(journal, 'servicesBegun') === undefined) {
    const running = await runningServices(ports, actions);
    await journal.mark({ kind: 'servicesBegun', ...(running === undefined ? {} : { running }) });
  }
  await performActions(ports, actions);
  await journal.mark({ kind: 'services' });
}

/**
 * Verifies boot, deployment, files, units and kernel arguments.
 *
 * @throws `NotYetRebooted`, `WrongDeployment`, `VerifyFailed` naming the path, `RefusedRequest`
 *   when an update to another config is in progress
 */
export async function verifyUpdate(ports: HostPorts, order: VerifyingOrder): Promise<VerifiedHost> {
  const status = await lookAtOs(ports);
  const journal = await openJournal(ports);
  refuseOther(ports, journal, order, 'verify');
  // Undone before the reboot: the caller that waits for the reboot repeats the update.
  const isAgain = journal !== undefined && markOf(journal, 'goingBack')?.again === true;
  if (!isAgain) refuseSameBoot(ports, status.bootId, order.rebootedFrom);
  if (journal !== undefined) {
    await goOnIfInterrupted(ports, order, { journal, status });
    refuseWrongBoot(ports, journal, status);
  }
  const to = await committedOrDesired(ports, order);
  const drift = await findDrift(ports, to.spec);
  if (drift !== undefined) throw fail('VerifyFailed', drift.reason, { path: drift.path });
  await proveVersion(ports.files);
  const osDrift = ports.os.managesOs ? findOsDrift(status, to.spec) : undefined;
  if (osDrift !== undefined) throw fail('VerifyFailed', osDrift);
  await proveRunning(ports, status, to.spec, (await readCurrentConfig(ports.files))?.spec);
  await proveKubelet(ports, journal);
  await proveUnits(ports, journal, to.spec);
  const { bootId } = status;
  await journal?.mark({ kind: 'verified', ...commitTime(ports, order), bootId });
  return { bootId };
}

type VerifyingOrder = Parameters<HostActivities['verifyUpdate']>[0];

interface CommitMark {
  readonly commitBy: string;
  readonly commitByUptime: number;
}

/** The latest order decides until when the machine may roll back by itself. */
function commitTime(
  ports: HostPorts,
  { commitWithinSeconds: seconds }: VerifyingOrder,
): CommitMark {
  return {
    commitBy: new Date(ports.now().getTime() + seconds * 1000).toISOString(),
    commitByUptime: secondsUp(ports) + seconds,
  };
}

/** @throws `WrongDeployment`, `VerifyFailed` with the reason when the machine is rolling back */
function refuseWrongBoot(ports: HostPorts, journal: OpenJournal, status: OsStatus): void {
  const { bootId, booted } = status;
  const armed = markOf(journal, 'armed');
  const back = markOf(journal, 'goingBack');
  const why = back?.because === undefined ? '' : `; ${back.because}`;
  if (armed !== undefined && armed.bootId !== bootId && armed.expected !== booted.id) {
    throw fail(
      'WrongDeployment',
      `${ports.node} booted deployment ${booted.id}, expected ${armed.expected}${why}`,
    );
  }
  if (back !== undefined) {
    throw fail('VerifyFailed', `${ports.node} has rolled the update back${why}`);
  }
}

/**
 * Succeeds if the config is the current one.
 *
 * @throws `WrongDeployment`, `RefusedRequest` when it is not applied, was rolled back, or an update
 *   to another config is in progress
 */
export async function commitUpdate(ports: HostPorts, order: UpdateOrder): Promise<void> {
  const journal = await openJournal(ports);
  refuseOther(ports, journal, order, 'commit');
  if (journal !== undefined && journal.header.repair !== true) {
    await desiredConfig(ports, order);
    await commit(ports, journal);
    return;
  }
  const current = await currentConfig(ports, order);
  if (current !== undefined && sameConfig(current.reference, order.config)) {
    // A crash may have prevented this last step of a commit.
    await dropKeptConfigs(ports.files);
    return;
  }
  throw fail('RefusedRequest', `commit ${order.config.name} on ${ports.node}: it is not applied`);
}

/**
 * After an unanswered order to commit: a commit that has begun is final, so it is completed.
 *
 * @throws as `commitUpdate`
 */
export async function endCommit(ports: HostPorts, order: UpdateOrder): Promise<GoneBack> {
  const committed = await hasCommitted(ports, order);
  // The OS program may not answer.
  const bootId = (await kernelBootId(ports)) ?? 'unknown';
  return { rebooting: false, bootId, ...(committed ? { committed } : {}) };
}

async function hasCommitted(ports: HostPorts, { config }: UpdateOrder): Promise<boolean> {
  const journal = await openJournal(ports);
  if (journal !== undefined && journal.header.repair !== true) {
    const isOurs = sameConfig(journal.header.target, config) && hasBegunToCommit(journal);
    if (isOurs) await commit(ports, journal);
    return isOurs;
  }
  const current = await readCurrentConfig(ports.files);
  if (current === undefined || !sameConfig(current.reference, config)) return false;
  await dropKeptConfigs(ports.files);
  return true;
}

/**
 * Of another update in progress.
 *
 * @throws `RefusedRequest`
 */
function refuseOther(
  { node }: Pick<HostPorts, 'node'>,
  journal: OpenJournal | undefined,
  { config }: UpdateOrder,
  verb: string,
): void {
  // A repair of drift is of the current config.
  if (journal === undefined || journal.header.repair === true) return;
  if (sameConfig(journal.header.target, config)) return;
  const other = journal.header.target.name;
  throw fail('RefusedRequest', `${verb} ${config.name} on ${node}: ${other} is in progress there`);
}

/** @throws `NotYetRebooted` while the machine is in the boot that must end */
export function refuseSameBoot(
  { node, reboot }: Pick<HostPorts, 'node' | 'reboot'>,
  bootId: string,
  rebootedFrom: string | undefined,
): void {
  if (rebootedFrom !== bootId) return;
  const problem = reboot.problem?.();
  const why = problem === undefined ? '' : `: ${problem}`;
  throw fail('NotYetRebooted', `${node} is still in boot ${bootId}${why}`, { bootId });
}

async function committedOrDesired(ports: HostPorts, order: UpdateOrder) {
  const current = await readCurrentConfig(ports.files);
  return current !== undefined && sameConfig(current.reference, order.config)
    ? current
    : desiredConfig(ports, order);
}
