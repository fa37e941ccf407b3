/**
 * Proof that an update was taken back: what it changed is as it was before. What else is not as the config says,
 * somebody else has changed meanwhile: that is drift of a host that is back, and no failure of its way back.
 */

import { fail } from '../../core/errors';
import { UNIT_DIRECTORY } from '../../core/systemd';
import { findForeignDeployment, readCommitted } from './committed';
import { type Drift, driftsFrom, findOsDrift } from './drift';
import type { HostPorts, OpenJournal, OsStatus } from './ports';
import type { HostConfig } from './records';
import { isUndoneHere } from './undo';

/** A host that went back. */
export interface WentBack {
  /** Absent = nothing of the update was begun, or all of it was proven and dropped before. */
  readonly journal: OpenJournal | undefined;
  readonly status: OsStatus;
  /** What the host is on again. */
  readonly from: HostConfig;
}

/**
 * Whether every path was put back on the booted deployment; each that is as before all the same is as good.
 *
 * @throws `VerifyFailed` naming the path
 */
export async function proveUndone(journal: OpenJournal, status: OsStatus): Promise<void> {
  // A repair of drift wrote what the config says.
  if (journal.header.repair === true || isUndoneHere(journal, status)) return;
  const [path] = await journal.differing();
  if (path !== undefined) throw fail('VerifyFailed', `${path} was not put back`, { path });
}

/**
 * Compares the disk with the config. What is neither as that says nor as before the update counts against the way
 * back; what the update did not change is told, and left to the watch of the disk.
 *
 * @throws `VerifyFailed` naming the path
 */
export async function proveFilesBack(
  ports: Pick<HostPorts, 'node' | 'files' | 'systemd' | 'warn'>,
  { journal, from }: WentBack,
): Promise<void> {
  let changed: readonly string[] | undefined;
  const others: string[] = [];
  for await (const drift of driftsFrom(ports, from.spec)) {
    changed ??= (await journal?.differing()) ?? [];
    if (isOf(changed, drift)) throw fail('VerifyFailed', drift.reason, { path: drift.path });
    others.push(drift.reason);
  }
  if (others.length > 0) ports.warn?.(changedMeanwhile(ports, from, others));
}

/** Whether it is one of these paths. Of a unit, all links are: which ones enable it depends on others. */
function isOf(paths: readonly string[], { path }: Drift): boolean {
  const isUnit = !path.startsWith('/');
  return paths.some((left) => (isUnit ? left.startsWith(`${UNIT_DIRECTORY}/`) : left === path));
}

/** All of it would be too long for a log. */
const TOLD = 3;

function changedMeanwhile(
  { node }: Pick<HostPorts, 'node'>,
  { reference: { name } }: HostConfig,
  reasons: readonly string[],
): string {
  const more = reasons.length > TOLD ? ` (and ${reasons.length - TOLD} more)` : '';
  const told = reasons.slice(0, TOLD).join('; ');
  return `${node} is back, and not as ${name} says, which the update had no part in: ${told}${more}`;
}

/**
 * Proves the operating system where no journal remembers how it was. No reboot was asked for then, so by
 * the deployment on which the config was committed; by the config where that is not known either.
 *
 * @throws `VerifyFailed` naming what differs, `WrongDeployment` naming both deployments
 */
export async function proveOsBack(
  ports: Pick<HostPorts, 'node' | 'files' | 'os'>,
  { journal, status, from }: WentBack,
): Promise<void> {
  if (!ports.os.managesOs || journal !== undefined) return;
  if ((await readCommitted(ports.files)) !== undefined) {
    const foreign = await findForeignDeployment(ports, status);
    if (foreign === undefined) return;
    throw fail('WrongDeployment', foreign, { deployment: status.booted.id });
  }
  const drift = findOsDrift(status, from.spec);
  if (drift !== undefined) throw fail('VerifyFailed', drift);
}
