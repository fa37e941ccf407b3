/** Whom a host talks to, by the port that a cut of the network names. */

import type { Fleet } from './fleet';

export type Peer = 'registry' | 'server' | 'Temporal' | 'API server';

export function portOf({ registry, product, temporal, cluster }: Fleet, peer: Peer): number {
  const urls: Readonly<Record<Peer, string>> = {
    registry: `http://${registry.address}`,
    server: product.hostEndpoint,
    Temporal: `http://${temporal.address}`,
    'API server': cluster.server,
  };
  return Number(new URL(urls[peer]).port);
}
