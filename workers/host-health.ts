/** Health and metrics of a host worker: which hosts serve their queue. */

import { installTemporalRuntime } from './temporal-runtime';
import type { HostProcessSettings, HostWorkerSettings } from './host-settings';
import { withoutNoise } from './host-log';
import type { Logger } from './logging';

export interface WatchedHosts {
  readonly onConfigured: (node: string, config: string | undefined) => void;
  readonly onPolling: (node: string) => void;
  close(): Promise<void>;
}

/** As many names as `/readyz` shows at most. */
const NAMES_SHOWN = 5;

/**
 * Serves health and metrics if the settings say where, and installs Temporal's runtime with its
 * metrics. What serves them is loaded only then: most hosts are idle, and memory is what they cost.
 */
export async function watchHosts(
  settings: HostWorkerSettings,
  nodes: readonly string[],
  log: Logger,
): Promise<WatchedHosts> {
  const starting = new Set(nodes);
  // Whoever starts this process may wait for this line.
  const ready =
    settings.kind === 'simulated'
      ? 'all simulated hosts serve their queues'
      : 'host serves its queue';
  const served = await serve(settings, starting, nodes.length, log);
  return {
    onConfigured: () => undefined,
    onPolling: (node) => {
      const isFirst = starting.delete(node);
      if (isFirst && starting.size === 0) log.info({ hosts: nodes.length }, ready);
      if (!isFirst) served?.restarted();
    },
    close: async () => served?.close(),
  };
}

async function serve(
  { metrics }: HostProcessSettings,
  starting: ReadonlySet<string>,
  count: number,
  log: Logger,
): Promise<{ restarted(): void; close(): Promise<void> } | undefined> {
  if (metrics === undefined) return undefined;
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client');
  const { freeLoopbackPort, startHealthServer } = await import('./health-server.js');
  const core = `127.0.0.1:${await freeLoopbackPort()}`;
  installTemporalRuntime(withoutNoise(log), core);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const reboots = new Counter({
    name: 'slipway_host_worker_restarts_total',
    help: 'How often a host served its queue again, after a reboot or a lost connection',
    registers: [registry],
  });
  new Gauge({
    name: 'slipway_host_worker_hosts',
    help: 'Hosts in this process that have served their queue',
    registers: [registry],
    collect() {
      this.set(count - starting.size);
    },
  });
  const health = await startHealthServer({
    ...metrics,
    registry,
    moreMetrics: `http://${core}/metrics`,
    waitingFor: () => namesOf(starting),
  });
  log.info({ metrics: health.url }, 'host worker starting');
  return { restarted: () => reboots.inc(), close: () => health.close() };
}

function namesOf(starting: ReadonlySet<string>): readonly string[] {
  const names = [...starting].slice(0, NAMES_SHOWN);
  const more = starting.size - names.length;
  return more > 0 ? [...names, `and ${more} more`] : names;
}
