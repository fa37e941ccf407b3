/**
 * Connections on which the server waits for its client. They are cheap to open, so without a free
 * place one of them gives way to a new machine.
 */

import { countedAs } from './join-networks';

interface Waiting<Connection> {
  add(connection: Connection, address: string): void;
  remove(connection: Connection, address: string): void;
  /** The connection that gives way to another one of its address. */
  ofSame(address: string): Connection | undefined;
  /** The connection, of any address, that gives way to one of this address. */
  ofAny(address: string): Connection | undefined;
}

interface WaitingOptions {
  /**
   * Milliseconds for which a connection is safe from an address with as many connections or more.
   */
  readonly patience: number;
  readonly now: () => number;
}

/** An IPv6 address counts by its /64. */
export function createWaiting<Connection>({ patience, now }: WaitingOptions): Waiting<Connection> {
  // The first entry of a Map has waited longest.
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
      // An address that holds more than the newcomer will hold gives way at once.
      return oldestOf(most.counted, most.size <= held + 1);
    },
  };
}
