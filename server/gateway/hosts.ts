/** What each host may take: no host holds up another one. */

import { createAddressLimit, type LimitSettings } from '../join-limit';
import { GatewayRefusal, STATUS } from './refusal';

/** A host has one connection; after a break, the server may still see the one before. */
const MAX_CONNECTIONS = 4;
/** A host has one poll and two orders, each with its heartbeats. */
const MAX_CALLS = 32;
/** Hosts of a busy pool make one call a second. */
const CALL_LIMIT: LimitSettings = { burst: 300, perSecond: 20, maxAddresses: 20_000 };

interface Host<Connection> {
  /** The oldest first. */
  readonly connections: Set<Connection>;
  calls: number;
}

export interface Hosts<Connection> {
  /** Undefined, or the oldest connection of this host, which has to go. */
  connected(name: string, connection: Connection): Connection | undefined;
  gone(name: string, connection: Connection): void;
  /**
   * @returns a function that ends the call
   * @throws GatewayRefusal
   */
  begin(name: string): () => void;
}

/** @param now - monotonic, milliseconds */
export function createHosts<Connection>(now: () => number): Hosts<Connection> {
  const hosts = new Map<string, Host<Connection>>();
  const limit = createAddressLimit(CALL_LIMIT, now);
  const hostOf = (name: string): Host<Connection> => {
    const known = hosts.get(name) ?? { connections: new Set(), calls: 0 };
    hosts.set(name, known);
    return known;
  };
  const forgetIdle = (name: string): void => {
    const host = hosts.get(name);
    if (host?.connections.size === 0 && host.calls === 0) hosts.delete(name);
  };
  return {
    connected(name, connection) {
      const { connections } = hostOf(name);
      connections.add(connection);
      const [oldest] = connections;
      if (oldest === undefined || connections.size <= MAX_CONNECTIONS) return undefined;
      connections.delete(oldest);
      return oldest;
    },
    gone(name, connection) {
      hosts.get(name)?.connections.delete(connection);
      forgetIdle(name);
    },
    begin(name) {
      const seconds = limit.take(name);
      if (seconds > 0) throw tooMany(`host ${name} makes too many calls; wait ${seconds} s`);
      const host = hostOf(name);
      if (host.calls >= MAX_CALLS) throw tooMany(`host ${name} has too many calls at once`);
      host.calls += 1;
      return () => {
        host.calls -= 1;
        forgetIdle(name);
      };
    },
  };
}

function tooMany(message: string): GatewayRefusal {
  return new GatewayRefusal(STATUS.RESOURCE_EXHAUSTED, 'too-many-calls', message);
}
