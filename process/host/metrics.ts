import type * as PromClient from 'prom-client';

interface HostMetrics {
  readonly restarted: () => void;
}

/**
 * The client is loaded only where somebody wants the metrics.
 *
 * @param served - how many hosts of the process have served their queue
 */
export function addHostMetrics(
  { Counter, Gauge }: typeof PromClient,
  registry: PromClient.Registry,
  served: () => number,
): HostMetrics {
  const restarts = new Counter({
    name: 'slipway_host_worker_restarts_total',
    help: 'How often a host served its queue again, after a reboot or a lost connection',
    registers: [registry],
  });
  new Gauge({
    name: 'slipway_host_worker_hosts',
    help: 'Hosts in this process that have served their queue',
    registers: [registry],
    collect() {
      this.set(served());
    },
  });
  return {
    restarted: () => {
      restarts.inc();
    },
  };
}
