/** From applied to committed: services, the armed reboot, the proof, the commit. */

import { fail } from '../../core/errors';
import type {
  GoneBack,
  HostActivities,
  HostOrder,
  VerifiedHost,
} from '../../workflows/host-contracts';
import { applyAgainIfInterrupted, goOnIfInterrupted, journalOf } from './arming';
import { currentConfig, desiredConfig } from './configs';
import { findDrift, findOsDrift } from './drift';
import { openJournal } from './open-journal';
import { lookAtOs } from './patience';
import {
  type HostPorts,
  kernelBootId,
  markOf,
  type OpenJournal,
  type OsStatus,
  secondsUp,
} from './ports';
import { proveKubelet, proveRunning } from './proof';
import { dropKeptConfigs, readCurrentConfig, sameConfig } from './records';
import { performActions, runningServices } from './services';
import { commit, hasBegunToCommit } from './settle';
import { proveUnits } from './unit-health';

/**
 * Reloads and restarts what the plan says; not again for an update that takes over what had all of it.
 *
 * @throws `ServiceFailed` naming the service
 */
export async function performServiceActions(ports: HostPorts, order: HostOrder): Promise<void> {
  await applyAgainIfInterrupted(ports, order);
  const journal = await journalOf(ports, order);
  if (markOf(journal, 'services') !== undefined) return;
  // Before the first one: a restart that fails, or is the last thing to happen, must be made good too.
  const { actions } = journal.header.plan;
  if (markOf(journal, 'servicesBegun') === undefined) {
    const running = await runningServices(ports, actions);
    await journal.mark({ kind: 'servicesBegun', ...(running === undefined ? {} : { running }) });
  }
  await performActions(ports, actions);
  await journal.mark({ kind: 'services' });
}

/**
 * Proves that the host is on the ordered config: another boot than before, the deployment that was
 * staged, files, units and kernel arguments.
 *
 * @throws `NotYetRebooted`, `WrongDeployment`, `VerifyFailed` naming the path, `RefusedRequest` when
 * an update to another config is under way
 */
export async function verifyUpdate(ports: HostPorts, order: VerifyingOrder): Promise<VerifiedHost> {
  const status = await lookAtOs(ports);
  const journal = await openJournal(ports);
  refuseOther(ports, journal, order, 'verify');
  // Taken back before the reboot, to do all of it again: whoever waits for the reboot sees to that.
  const isAgain = journal !== undefined && markOf(journal, 'goingBack')?.again === true;
  if (!isAgain) refuseSameBoot(ports, status.bootId, order.rebootedFrom);
  if (journal !== undefined) {
    await goOnIfInterrupted(ports, order, { journal, status });
    refuseWrongBoot(ports, journal, status);
  }
  const to = await committedOrDesired(ports, order);
  const drift = await findDrift(ports, to.spec);
  if (drift !== undefined) throw fail('VerifyFailed', drift.reason, { path: drift.path });
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

/** Whoever ordered it last decides until when the machine may go back by itself. */
function commitTime(
  ports: HostPorts,
  { commitWithinSeconds: seconds }: VerifyingOrder,
): CommitMark {
  return {
    commitBy: new Date(ports.now().getTime() + seconds * 1000).toISOString(),
    commitByUptime: secondsUp(ports) + seconds,
  };
}

/** @throws `WrongDeployment`, `VerifyFailed` when the machine is on its way back already, saying why */
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
    throw fail('VerifyFailed', `${ports.node} has taken the update back${why}`);
  }
}

/**
 * Makes the new config the current one and drops the before-images. Nothing to do = done.
 *
 * @throws `WrongDeployment`, `RefusedRequest` when it is not applied, was taken back, or an update to
 * another config is under way
 */
export async function commitUpdate(ports: HostPorts, order: HostOrder): Promise<void> {
  const journal = await openJournal(ports);
  refuseOther(ports, journal, order, 'commit');
  if (journal !== undefined && journal.header.repair !== true) {
    await desiredConfig(ports, order);
    await commit(ports, journal);
    return;
  }
  const current = await currentConfig(ports, order);
  if (current !== undefined && sameConfig(current.reference, order.config)) {
    // The last of what a commit does, which a crash may have cut off.
    await dropKeptConfigs(ports.files);
    return;
  }
  throw fail('RefusedRequest', `commit ${order.config.name} on ${ports.node}: it is not applied`);
}

/**
 * What became of an order to commit that nobody has heard the end of: one that was begun is final, so it is brought to
 * its end. Nothing else is done.
 *
 * @throws as `commitUpdate`
 */
export async function endCommit(ports: HostPorts, order: HostOrder): Promise<GoneBack> {
  const committed = await hasCommitted(ports, order);
  // The journal knows, whether the program of the operating system answers or not: that may be why it is asked.
  const bootId = (await kernelBootId(ports)) ?? 'unknown';
  return { rebooting: false, bootId, ...(committed ? { committed } : {}) };
}

async function hasCommitted(ports: HostPorts, { config }: HostOrder): Promise<boolean> {
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
 * What proves or ends an update has nothing to say about another one that is under way.
 *
 * @throws `RefusedRequest`
 */
function refuseOther(
  { node }: Pick<HostPorts, 'node'>,
  journal: OpenJournal | undefined,
  { config }: HostOrder,
  verb: string,
): void {
  // A repair of drift is of the config that the host is on.
  if (journal === undefined || journal.header.repair === true) return;
  if (sameConfig(journal.header.target, config)) return;
  const other = journal.header.target.name;
  throw fail('RefusedRequest', `${verb} ${config.name} on ${node}: ${other} is under way there`);
}

/** @throws `NotYetRebooted` while the machine is still in the boot that must be over */
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

async function committedOrDesired(ports: HostPorts, order: HostOrder) {
  const current = await readCurrentConfig(ports.files);
  return current !== undefined && sameConfig(current.reference, order.config)
    ? current
    : desiredConfig(ports, order);
}
