import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ConfigStore } from './config-store';

export interface ServerMetrics {
  /** `endpoint` is the route and never a name. */
  answered(endpoint: string, code: number, seconds: number): void;
  text(): Promise<string>;
  readonly contentType: string;
  readonly registry: Registry;
}

export function createServerMetrics(): ServerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'slipway_server_requests_total',
    help: 'Answered requests by endpoint and status code',
    labelNames: ['endpoint', 'code'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'slipway_server_request_duration_seconds',
    help: 'Time to answer a request, by endpoint',
    labelNames: ['endpoint'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [registry],
  });
  return {
    registry,
    contentType: registry.contentType,
    answered(endpoint, code, duration) {
      requests.inc({ endpoint, code: String(code) });
      seconds.observe({ endpoint }, duration);
    },
    text: () => registry.metrics(),
  };
}

export function addConfigLookups(registry: Registry, store: Pick<ConfigStore, 'counts'>): void {
  new Gauge({
    name: 'slipway_server_config_lookups',
    help: 'Lookups of rendered configs since the start: from memory, or read from the API server',
    labelNames: ['from'],
    registers: [registry],
    collect() {
      this.set({ from: 'memory' }, store.counts.hits);
      this.set({ from: 'api' }, store.counts.misses);
    },
  });
}
