/**
 * Verifies a rollback: the changes of the update are as before. Other differences from the config
 * are drift.
 */

import { fail } from '../../core/errors';
import { fewSentences } from '../../core/few';
import { UNIT_DIRECTORY } from '../../core/systemd';
import { findForeignDeployment, readCommitted } from '../records/committed-deployment';
import { type Drift, driftsFrom, findOsDrift } from '../drift/compare';
import type { HostPorts, OpenJournal, OsStatus } from '../ports';
import type { HostConfig } from '../records/configs';
import { isUndoneHere } from '../transaction/undo';

interface WentBack {
  /** Absent: nothing was begun, or it was verified and dropped before. */
  readonly journal: OpenJournal | undefined;
  readonly status: OsStatus;
  readonly from: HostConfig;
}

/**
 * Every path was restored on the booted deployment, or equals its before-image anyway.
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
 * A path of the update that matches neither the config nor its before-image fails the rollback;
 * other differences are left to the drift watch.
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

/** For a unit all links count, because others may enable it. */
function isOf(paths: readonly string[], { path }: Drift): boolean {
  const isUnit = !path.startsWith('/');
  return paths.some((left) => (isUnit ? left.startsWith(`${UNIT_DIRECTORY}/`) : left === path));
}

function changedMeanwhile(
  { node }: Pick<HostPorts, 'node'>,
  { reference: { name } }: HostConfig,
  reasons: readonly string[],
): string {
  const told = fewSentences(reasons);
  return `${node} is rolled back; differences from ${name} that are not of the update: ${told}`;
}

/**
 * For when no journal has the earlier state: then no reboot was requested, so the committed
 * deployment counts, or else the config.
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
