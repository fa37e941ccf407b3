/** From applied to committed: services, the armed reboot, the proof, the commit. */

import { fail } from '../../core/errors';
import type { ArmedReboot, HostOrder, VerifiedHost } from '../../workflows/activity-contracts';
import { currentConfig, desiredConfig } from './configs';
import { findDrift, findOsDrift } from './drift';
import { type HostPorts, markOf, type OpenJournal } from './ports';
import { readCurrentConfig } from './records';
import { performActions } from './services';
import { commit, sameConfig } from './settle';

/** Reloads and restarts what the plan says. @throws `ApplyFailed` naming the service */
export async function performServiceActions(ports: HostPorts, order: HostOrder): Promise<void> {
  const journal = await journalOf(ports, order);
  // Before the first one: a restart that fails, or is the last thing to happen, must be made good too.
  if (markOf(journal, 'servicesBegun') === undefined) await journal.mark({ kind: 'servicesBegun' });
  await performActions(ports, journal.header.plan.actions);
  await journal.mark({ kind: 'services' });
}

/**
 * Releases the staged deployment and asks for the reboot, which happens once this activity has been
 * acknowledged. Armed twice is armed once: the journal has it, and the boot ID tells whether it is
 * over.
 */
export async function armReboot(
  ports: HostPorts,
  order: HostOrder & { readonly reconnectSeconds?: number },
): Promise<ArmedReboot> {
  const journal = await journalOf(ports, order);
  const { bootId, booted, staged } = await ports.os.status();
  const armed = markOf(journal, 'armed');
  if (armed !== undefined && armed.bootId !== bootId) return { bootId: armed.bootId };
  if (armed === undefined) {
    const { reconnectSeconds } = order;
    await journal.mark({
      kind: 'armed',
      bootId,
      expected: staged?.id ?? booted.id,
      ...(reconnectSeconds === undefined ? {} : { reconnectSeconds }),
    });
  }
  await ports.os.finalize();
  ports.reboot.request(`update to ${order.config.name}`);
  return { bootId };
}

/**
 * Proves that the host is on the ordered config: another boot than before, the deployment that was
 * staged, files, units and kernel arguments.
 *
 * @throws `NotYetRebooted`, `WrongDeployment`, `VerifyFailed` naming the path
 */
export async function verifyUpdate(
  ports: HostPorts,
  order: HostOrder & { readonly rebootedFrom?: string },
): Promise<VerifiedHost> {
  const status = await ports.os.status();
  refuseSameBoot(ports, status.bootId, order.rebootedFrom);
  const journal = await ports.journal.open();
  const armed = journal === undefined ? undefined : markOf(journal, 'armed');
  if (
    armed !== undefined &&
    armed.bootId !== status.bootId &&
    armed.expected !== status.booted.id
  ) {
    throw fail(
      'WrongDeployment',
      `${ports.node} booted deployment ${status.booted.id}, expected ${armed.expected}`,
    );
  }
  const to = await committedOrDesired(ports, order);
  const drift = await findDrift(ports, to.spec);
  if (drift !== undefined) throw fail('VerifyFailed', drift.reason, { path: drift.path });
  const osDrift = ports.os.managesOs ? findOsDrift(status, to.spec) : undefined;
  if (osDrift !== undefined) throw fail('VerifyFailed', osDrift);
  return { bootId: status.bootId };
}

/** Makes the new config the current one and drops the before-images. Nothing to do = done. */
export async function commitUpdate(ports: HostPorts, order: HostOrder): Promise<void> {
  const journal = await ports.journal.open();
  if (journal !== undefined && sameConfig(journal.header.target, order.config)) {
    await desiredConfig(ports, order);
    await commit(ports, journal);
    return;
  }
  const current = await currentConfig(ports, order);
  if (current !== undefined && sameConfig(current.reference, order.config)) return;
  throw fail('RefusedRequest', `commit ${order.config.name} on ${ports.node}: it is not applied`);
}

/** @throws `NotYetRebooted` while the machine is still in the boot that must be over */
export function refuseSameBoot(
  ports: Pick<HostPorts, 'node'>,
  bootId: string,
  rebootedFrom: string | undefined,
): void {
  if (rebootedFrom !== bootId) return;
  throw fail('NotYetRebooted', `${ports.node} is still in boot ${bootId}`, { bootId });
}

async function committedOrDesired(ports: HostPorts, order: HostOrder) {
  const current = await readCurrentConfig(ports.files);
  return current !== undefined && sameConfig(current.reference, order.config)
    ? current
    : desiredConfig(ports, order);
}

/** The journal of this very update. @throws `RefusedRequest` when nothing is applied */
async function journalOf(ports: HostPorts, order: HostOrder): Promise<OpenJournal> {
  const journal = await ports.journal.open();
  const isReady =
    journal !== undefined &&
    sameConfig(journal.header.target, order.config) &&
    markOf(journal, 'applied') !== undefined;
  if (isReady) return journal;
  throw fail('RefusedRequest', `${order.config.name} is not applied on ${ports.node}`);
}
