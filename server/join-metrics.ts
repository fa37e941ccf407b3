import { Counter, type Registry } from 'prom-client';
import { JOIN_OUTCOMES, type CountingJoinGate } from './join-gate';

/** `slipway_server_joins_total`, each outcome from zero on. */
export function addJoinMetrics(
  registry: Registry,
  { counts }: Pick<CountingJoinGate, 'counts'>,
): void {
  new Counter({
    name: 'slipway_server_joins_total',
    help: 'Requests for first configs by how they were judged',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const outcome of JOIN_OUTCOMES) this.inc({ outcome }, counts[outcome]);
    },
  });
}
