/** The way back: the journal undone byte for byte, the old deployment booted, and proof of both. */

import { fail } from '../../core/errors';
import type { HostOrder, VerifiedHost } from '../../workflows/activity-contracts';
import { currentConfig } from './configs';
import { findDrift, findOsDrift } from './drift';
import { refuseSameBoot } from './finish';
import { forgetResults } from './orders';
import { type HostPorts, markOf } from './ports';
import { dropKeptConfigs } from './records';
import { tellOfOldFiles } from './services';

export interface GoneBack {
  readonly rebooting: boolean;
  readonly bootId: string;
}

/**
 * Undoes the update. Files and links at once; the deployment by a reboot, if the new one is booted.
 * systemd and the services that may have the new files are told of the old ones, unless the reboot
 * tells them. Safe to repeat: what is undone is undone.
 *
 * @throws `RollbackFailed` naming the path, `ApplyFailed` naming the service
 */
export async function goBack(ports: HostPorts): Promise<GoneBack> {
  const journal = await ports.journal.open();
  const { bootId, booted } = await ports.os.status();
  if (journal === undefined) {
    await ports.os.discard();
    await dropKeptConfigs(ports.files);
    return { rebooting: false, bootId };
  }
  const armed = markOf(journal, 'armed');
  const { header } = journal;
  const begun = markOf(journal, 'goingBack');
  // A machine that rebooted on the way boots again, so that nothing runs that has read the new files;
  // unless it has done so already, by itself or in an attempt whose answer got lost.
  const isDue =
    begun === undefined ? armed !== undefined && armed.bootId !== bootId : begun.bootId === bootId;
  const rebooting = isDue || booted.id !== header.previousDeployment;
  if (begun === undefined) {
    await journal.mark({ kind: 'goingBack', ...(rebooting ? { bootId } : {}) });
  }
  await ports.os.discard();
  await journal.undo();
  await forgetResults(ports.files);
  if (!rebooting) await tellOfOldFiles(ports, journal);
  if (rebooting) {
    if (booted.id !== header.previousDeployment) await ports.os.rollback();
    ports.reboot.request('the update is taken back');
  }
  return { rebooting, bootId };
}

/**
 * Proves that the host is where it was, and drops the journal: only now are the before-images not
 * needed any more.
 *
 * @throws `NotYetRebooted`, `WrongDeployment`, `VerifyFailed` naming the path
 */
export async function verifyBack(
  ports: HostPorts,
  order: HostOrder & { readonly rebootedFrom?: string },
): Promise<VerifiedHost> {
  const status = await ports.os.status();
  refuseSameBoot(ports, status.bootId, order.rebootedFrom);
  const journal = await ports.journal.open();
  const expected = journal?.header.previousDeployment;
  if (expected !== undefined && status.booted.id !== expected) {
    throw fail(
      'WrongDeployment',
      `${ports.node} booted deployment ${status.booted.id}, expected ${expected}`,
    );
  }
  const from = await currentConfig(ports, order);
  if (from !== undefined) {
    const drift = await findDrift(ports, from.spec);
    if (drift !== undefined) throw fail('VerifyFailed', drift.reason, { path: drift.path });
    const osDrift = ports.os.managesOs ? findOsDrift(status, from.spec) : undefined;
    if (osDrift !== undefined) throw fail('VerifyFailed', osDrift);
  }
  await journal?.close();
  await dropKeptConfigs(ports.files);
  return { bootId: status.bootId };
}

/** Drops the staged deployment and the fetched configs; an applied update is left alone. */
export async function discardStaged(ports: HostPorts): Promise<void> {
  if ((await ports.journal.open()) !== undefined) return;
  await ports.os.discard();
  await dropKeptConfigs(ports.files);
  await forgetResults(ports.files);
}
