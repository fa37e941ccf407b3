/** Tells listeners of the orders of a host as they begin and end. */

import type { HostActivities, HostOrder } from '../../workflows/host-contracts';

const WRITES = 'applyUpdate' satisfies keyof HostActivities;

export type WritingOrder = Parameters<HostActivities[typeof WRITES]>[0];

interface Listeners {
  /** One begins that writes files: the first of them may cut the machine off. */
  readonly onWriting: (order: WritingOrder) => void;
  readonly onCarriedOut: () => void;
  /** Also when it failed. */
  readonly onEnded: () => void;
}

/** The same activities; the listeners hear of each. */
export function tellListeners(activities: HostActivities, listeners: Listeners): HostActivities {
  const telling = Object.entries(activities).map(([name, activity]) => {
    const run = activity as (order: HostOrder) => Promise<unknown>;
    const tell = async (order: HostOrder): Promise<unknown> => {
      if (name === WRITES) listeners.onWriting(order);
      try {
        const result = await run(order);
        listeners.onCarriedOut();
        return result;
      } finally {
        listeners.onEnded();
      }
    };
    return [name, tell];
  });
  return Object.fromEntries(telling) as HostActivities;
}
