import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { InsteadBecause } from '../../core/first-boot';
import type { DropReason } from '../connections';
import type { CutReason } from './request-log';
import type { MissingReason } from './source';

interface IgnitionMetrics {
  /** Called when a first config was sent to its last byte. */
  readonly sent: (version: string, encoding: string) => void;
  readonly missed: (reason: MissingReason) => void;
  /** The config of the pool was deleted, so a request got another one. */
  readonly substituted: (because: InsteadBecause) => void;
  readonly prepared: (seconds: number) => void;
  readonly dropped: (reason: DropReason | CutReason) => void;
}

/** Read at scrape time. */
interface IgnitionGauges {
  readonly preparedBytes: () => number;
  readonly ageSeconds: () => number;
  readonly connections: () => number;
  readonly isOpen: boolean;
}

export function createIgnitionMetrics(registry: Registry, look: IgnitionGauges): IgnitionMetrics {
  const registers = [registry];
  const sent = new Counter({
    name: 'slipway_server_first_configs_total',
    help: 'First configs sent to their last byte, by version of the specification and encoding',
    labelNames: ['version', 'encoding'],
    registers,
  });
  const missed = new Counter({
    name: 'slipway_server_first_configs_missing_total',
    help: 'Admitted requests for which there was no first config, by reason',
    labelNames: ['reason'],
    registers,
  });
  const substituted = new Counter({
    name: 'slipway_server_first_configs_substituted_total',
    help: 'Admitted requests that got another config, because the one of their pool was deleted: one that a node has proved, or the target',
    labelNames: ['because'],
    registers,
  });
  const prepared = new Histogram({
    name: 'slipway_server_prepare_seconds',
    help: 'Time to prepare a first config in one version and every encoding',
    buckets: [0.01, 0.05, 0.2, 1, 5],
    registers,
  });
  const dropped = new Counter({
    name: 'slipway_server_connections_dropped_total',
    help: 'Connections of joining machines that were closed, by reason',
    labelNames: ['reason'],
    registers,
  });
  addGauges(registry, look);
  return {
    sent: (version, encoding) => sent.inc({ version, encoding }),
    missed: (reason) => missed.inc({ reason }),
    substituted: (because) => substituted.inc({ because }),
    prepared: (seconds) => prepared.observe(seconds),
    dropped: (reason) => dropped.inc({ reason }),
  };
}

function addGauges(registry: Registry, look: IgnitionGauges): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge('slipway_server_prepared_bytes', 'Memory for prepared first configs', look.preparedBytes);
  gauge(
    'slipway_server_config_age_seconds',
    'Time since the last question that the API server answered; it is asked every ten seconds',
    look.ageSeconds,
  );
  gauge('slipway_server_connections', 'Open connections of joining machines', look.connections);
  gauge(
    'slipway_server_join_open',
    '1 while everybody gets a first config who reaches the port',
    () => (look.isOpen ? 1 : 0),
  );
}
