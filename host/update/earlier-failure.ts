/**
 * Only the host knows an update that failed, and was lost before its node showed it. So the next
 * update to the same config ends the same way: the host rolls back, and the node shows why.
 */

import { FAILURES, fail, failureName, messageOf } from '../../core/errors';
import type { UpdateOrder, PreparedUpdate } from '../../workflows/contracts/host';
import { goBack, verifyBack } from './go-back';
import { openJournal } from '../transaction/open-journal';
import { lookWithinFiveMinutes } from '../retries';
import type { HostPorts, OpenJournal } from '../ports';
import { prepareUpdate } from './prepare';
import { sameConfig } from '../records/configs';
import { failedBefore, failedEarlier, noteFailed } from '../records/accepted-runs';
import { backDisturbs, failedAlone } from '../transaction/unfinished-update';

/**
 * A lost update that failed here is rolled back first if this does not disturb the node. Otherwise
 * the answer is the plan of the rollback, and the order to apply is refused.
 *
 * @throws `EarlierUpdateFailed` with the reason, `RollbackFailed` when the host could not be rolled
 *   back, and the errors of `prepareUpdate`
 */
export async function prepareUnlessFailed(
  ports: HostPorts,
  order: UpdateOrder,
): Promise<PreparedUpdate> {
  if (order.afterLost !== true) return prepareUpdate(ports, order);
  const journal = await leftJournal(ports, order);
  const failed = (await failedBefore(ports.files, order)) ?? (journal && failedAlone(journal));
  if (failed === undefined) return prepareUpdate(ports, order);
  // Before the journal is dropped, its only other record.
  await noteFailed(ports.files, order, failed);
  if (journal !== undefined) {
    if (backDisturbs(journal, await lookWithinFiveMinutes(ports)))
      return prepareUpdate(ports, order);
    await finishWayBack(ports, order, failed);
  }
  throw failedEarlier(order, failed);
}

async function leftJournal(
  ports: HostPorts,
  { config }: UpdateOrder,
): Promise<OpenJournal | undefined> {
  const journal = await openJournal(ports);
  if (journal === undefined || journal.header.repair === true) return undefined;
  return sameConfig(journal.header.target, config) ? journal : undefined;
}

/** As the lost update would have. Transient failures are retried. */
async function finishWayBack(ports: HostPorts, order: UpdateOrder, failed: string): Promise<void> {
  ports.context().progress('rolling back a lost update that had failed');
  try {
    await goBack(ports);
    await verifyBack(ports, order);
  } catch (error) {
    const name = failureName(error);
    if (name === undefined || FAILURES[name].kind !== 'stalled') throw error;
    const text = `${failed}; the rollback failed: ${name}: ${messageOf(error)}`;
    throw Object.assign(fail('RollbackFailed', text), { cause: error });
  }
}
