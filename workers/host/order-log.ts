/** One line per change of a machine. */

import { failureName, messageOf } from '../../core/errors';
import type { HostActivities, HostOrder } from '../../workflows/contracts/host';
import type { Logger } from '../../process/logging';

/** Reading and repeating is not logged. */
const DONE: Readonly<Record<keyof HostActivities, string>> = {
  prepareUpdate: 'update prepared',
  applyUpdate: 'config applied',
  performServiceActions: 'services told',
  armReboot: 'reboot armed',
  verifyUpdate: 'config verified',
  commitUpdate: 'config is current',
  goBack: 'update rolled back',
  verifyBack: 'verified on the previous config',
  discardStaged: 'staged update dropped',
};

/** Names and durations, never contents. */
export function logged(activities: HostActivities, log: Logger): HostActivities {
  const wrapped = Object.entries(activities).map(([name, activity]) => {
    const run = activity as (order: HostOrder) => Promise<unknown>;
    return [name, (order: HostOrder) => logOne(name as keyof HostActivities, run, order, log)];
  });
  return Object.fromEntries(wrapped) as HostActivities;
}

async function logOne(
  activity: keyof HostActivities,
  run: (order: HostOrder) => Promise<unknown>,
  order: HostOrder,
  log: Logger,
): Promise<unknown> {
  const started = performance.now();
  const about = () => ({
    node: order.node,
    config: order.config.name,
    activity,
    durationMs: Math.round(performance.now() - started),
  });
  try {
    const result = await run(order);
    log.info(about(), DONE[activity]);
    return result;
  } catch (error) {
    const fields = { ...about(), failure: failureName(error), reason: messageOf(error) };
    if (fields.failure === 'NotYetRebooted') log.debug(fields, 'not yet rebooted');
    else log.warn(fields, 'order not carried out');
    throw error;
  }
}
