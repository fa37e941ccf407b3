/**
 * Connections on which the server waits for its client. Silence is cheap to make, so where there is no
 * room left it is they who give way, and not the machine that comes.
 */

import { countedAs } from './join-networks';

export interface Waiting<Connection> {
  /** From now on the server waits for it; also when it did before. */
  add(connection: Connection, address: string): void;
  /** It is at work, or gone. */
  remove(connection: Connection, address: string): void;
  /** Who gives way to another connection of the same address; undefined = nobody. */
  ofSame(address: string): Connection | undefined;
  /** Who gives way to a connection of this address, wherever it comes from. */
  ofAny(address: string): Connection | undefined;
}

export interface WaitingOptions {
  /** Milliseconds for which nobody has to give way to a neighbour who does not hold fewer. */
  readonly patience: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** An address of IPv6 is its /64. */
export function createWaiting<Connection>({ patience, now }: WaitingOptions): Waiting<Connection> {
  // Maps remember the order of insertion: what comes first has waited longest.
  const byAddress = new Map<string, Map<Connection, number>>();

  function oldestOf(counted: string, isPatient: boolean): Connection | undefined {
    const [oldest] = byAddress.get(counted) ?? [];
    if (oldest === undefined) return undefined;
    const [connection, since] = oldest;
    return isPatient && now() - since < patience ? undefined : connection;
  }

  return {
    add(connection, address) {
      this.remove(connection, address);
      const counted = countedAs(address);
      const waiting = byAddress.get(counted) ?? new Map<Connection, number>();
      byAddress.set(counted, waiting.set(connection, now()));
    },
    remove(connection, address) {
      const counted = countedAs(address);
      const waiting = byAddress.get(counted);
      if (waiting?.delete(connection) === true && waiting.size === 0) byAddress.delete(counted);
    },
    ofSame: (address) => oldestOf(countedAs(address), true),
    ofAny(address) {
      const own = countedAs(address);
      const held = byAddress.get(own)?.size ?? 0;
      let most = { counted: own, size: held };
      for (const [counted, { size }] of byAddress) {
        if (size > most.size) most = { counted, size };
      }
      // Who holds more than the newcomer is going to hold gives way at once.
      return oldestOf(most.counted, most.size <= held + 1);
    },
  };
}
