/** By the port that a network cut names. */

import type { Fleet } from './fleet';

export type Peer = 'registry' | 'server' | 'gateway' | 'API server';

export function portOf({ registry, product, cluster }: Fleet, peer: Peer): number {
  const urls: Readonly<Record<Peer, string>> = {
    registry: `http://${registry.address}`,
    server: product.hostEndpoint,
    gateway: `http://${product.gatewayAddress}`,
    'API server': cluster.server,
  };
  return Number(new URL(urls[peer]).port);
}
