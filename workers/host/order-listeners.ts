import type { HostActivities } from '../../workflows/contracts/host';

const WRITES = 'applyUpdate' satisfies keyof HostActivities;

export type WritingOrder = Parameters<HostActivities[typeof WRITES]>[0];

interface Listeners {
  /** Its first file may cut the machine off. */
  readonly onWriting: (order: WritingOrder) => void;
  readonly onCarriedOut: () => void;
  readonly onEnded: () => void;
}

export function tellListeners(activities: HostActivities, listeners: Listeners): HostActivities {
  const telling = Object.entries(activities).map(([name, activity]) => {
    const run = activity as (order: WritingOrder) => Promise<unknown>;
    const tell = async (order: WritingOrder): Promise<unknown> => {
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
