import { Counter, Gauge, type Registry } from 'prom-client';
import { REFUSAL_REASONS, type RefusalReason } from './refusal';

export interface GatewayMetrics {
  /** @param method - the name of an allowed call */
  answered(method: string, code: number): void;
  refused(reason: RefusalReason): void;
}

/** No label has the name of a host. */
export function addGatewayMetrics(
  registry: Registry,
  now: { readonly connections: () => number; readonly polls: () => number },
): GatewayMetrics {
  const calls = new Counter({
    name: 'slipway_server_gateway_calls_total',
    help: 'Calls of hosts that passed the gateway to Temporal, by call and gRPC status',
    labelNames: ['call', 'code'],
    registers: [registry],
  });
  const refused = new Counter({
    name: 'slipway_server_gateway_refused_total',
    help: 'Calls of hosts that the gateway to Temporal refused, by reason',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of REFUSAL_REASONS) refused.inc({ reason }, 0);
  new Gauge({
    name: 'slipway_server_gateway_connections',
    help: 'Open connections of hosts to the gateway to Temporal',
    registers: [registry],
    collect() {
      this.set(now.connections());
    },
  });
  new Gauge({
    name: 'slipway_server_gateway_polls',
    help: 'Hosts that wait for an order at the gateway to Temporal',
    registers: [registry],
    collect() {
      this.set(now.polls());
    },
  });
  return {
    answered: (call, code) => calls.inc({ call, code: String(code) }),
    refused: (reason) => refused.inc({ reason }),
  };
}
