import { messageOf } from '../../core/errors';
import { type OrderKeyring, readOrder } from '../../host/orders/read-order';
import type {
  HandedActivities,
  HostActivities,
  HostOrder,
  HostStep,
} from '../../workflows/contracts/host';
import type { Logger } from '../../process/logging';

/** Whoever writes to the queue of a host gives it nothing but what the cluster worker has signed. */
export function signedOnly(
  activities: HostActivities,
  {
    node,
    keyring,
    log,
  }: { readonly node: string; readonly keyring: OrderKeyring; readonly log: Logger },
): HandedActivities {
  const wrapped = Object.entries(activities).map(([name, activity]) => {
    const step = name as HostStep;
    const obey = activity as (order: HostOrder) => Promise<unknown>;
    return [name, async (given: unknown) => obey(await read(given, step))];
  });
  const read = async (given: unknown, step: HostStep): Promise<HostOrder> => {
    try {
      return await readOrder(given, step, { node, keyring, now: () => new Date() });
    } catch (error) {
      log.warn({ node, activity: step, reason: messageOf(error) }, 'order refused');
      throw error;
    }
  };
  return Object.fromEntries(wrapped) as HandedActivities;
}
