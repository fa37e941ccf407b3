import { Gauge, type Registry } from 'prom-client';
import type { ClusterView } from './ports';

/**
 * When a host was last heard here. Each asks at least every five minutes; replicas hear different
 * ones. Has as many series as the cluster has nodes.
 *
 * @param clock - milliseconds since 1970
 * @returns to be called with the node of each request
 */
export function createHeardHosts(
  registry: Registry,
  cluster: Pick<ClusterView, 'node'>,
  clock: () => number,
): (node: string) => void {
  const heardAt = new Map<string, number>();
  new Gauge({
    name: 'slipway_server_host_heard_timestamp_seconds',
    help: 'When the host of a node last asked this server for something',
    labelNames: ['node'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [node, at] of heardAt) {
        if (cluster.node(node) === undefined) heardAt.delete(node);
        else this.set({ node }, at / 1000);
      }
    },
  });
  return (node) => {
    if (cluster.node(node) !== undefined) heardAt.set(node, clock());
  };
}
