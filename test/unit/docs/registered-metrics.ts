/** Every metric that a process of Slipway registers, with its labels. */

import * as client from 'prom-client';
import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import { createMetrics } from '../../../controllers/metrics';
import { PHASE_METRIC } from '../../../core/node/lifecycle';
import { addHostMetrics } from '../../../process/host/metrics';
import { addGatewayMetrics } from '../../../server/gateway/metrics';
import { createHeardHosts } from '../../../server/heard-hosts';
import { createIgnitionMetrics } from '../../../server/ignition/metrics';
import { addJoinMetrics } from '../../../server/join-metrics';
import type { CountingJoinGate } from '../../../server/join-gate';
import { addConfigLookups, createServerMetrics } from '../../../server/metrics';
import { createWorkerMetrics } from '../../../workers/cluster/metrics';

export type MetricLabels = ReadonlyMap<string, readonly string[]>;

const REGISTERED = registeredMetrics();

/** A histogram has series of other names. */
export function metricOf(series: string): string {
  return REGISTERED.has(series) ? series : series.replace(/_(?:bucket|count|sum)$/, '');
}

/** Without those of Node.js and of Temporal's SDK. */
export function registeredMetrics(): MetricLabels {
  const registries = [
    createMetrics().registry,
    createWorkerMetrics({} as ClusterCaches).registry,
    ofServer(),
    ofHost(),
  ];
  const metrics = registries.flatMap(labelsIn);
  return new Map([...metrics, [PHASE_METRIC, ['pool', 'phase']]]);
}

function ofServer(): client.Registry {
  const { registry } = createServerMetrics();
  addConfigLookups(registry, { counts: { hits: 0, misses: 0 } });
  addJoinMetrics(registry, { counts: {} } as Pick<CountingJoinGate, 'counts'>);
  addGatewayMetrics(registry, { connections: () => 0, polls: () => 0 });
  createHeardHosts(registry, { node: () => undefined }, () => 0);
  const none = (): number => 0;
  createIgnitionMetrics(registry, {
    ...{ preparedBytes: none, ageSeconds: none, connections: none, isOpen: false },
  });
  return registry;
}

function ofHost(): client.Registry {
  const registry = new client.Registry();
  addHostMetrics(client, registry, () => 0);
  return registry;
}

function labelsIn(registry: client.Registry): readonly (readonly [string, readonly string[]])[] {
  return registry
    .getMetricsAsArray()
    .map((metric) => metric as unknown as { name: string; labelNames: readonly string[] })
    .filter(({ name }) => !/^(nodejs|process)_/.test(name))
    .map(({ name, labelNames }) => [name, labelNames] as const);
}
