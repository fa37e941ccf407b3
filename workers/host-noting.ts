/** Who hears of the orders of a host as they end. */

import type { HostActivities, HostOrder } from '../workflows/activity-contracts';

interface Listeners {
  readonly onCarriedOut: () => void;
  /** Also when it failed. */
  readonly onEnded: () => void;
}

/** The same activities; whoever waits for it hears of each that ends. */
export function noting(activities: HostActivities, listeners: Listeners): HostActivities {
  const noted = Object.entries(activities).map(([name, activity]) => {
    const run = activity as (order: HostOrder) => Promise<unknown>;
    const note = async (order: HostOrder): Promise<unknown> => {
      try {
        const result = await run(order);
        listeners.onCarriedOut();
        return result;
      } finally {
        listeners.onEnded();
      }
    };
    return [name, note];
  });
  return Object.fromEntries(noted) as HostActivities;
}
