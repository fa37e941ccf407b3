/** Temporal's native part, once per process: its log lines, its metrics, no signal handlers. */

import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { temporalLogger, type Logger } from './logging';

let isInstalled = false;

/**
 * Installs the runtime; a second call changes nothing, as when a test runs two workers.
 *
 * @param metricsAddress - `host:port` where the SDK serves its own metrics; absent = nowhere
 */
export function installTemporalRuntime(log: Logger, metricsAddress?: string): void {
  if (isInstalled) return;
  isInstalled = true;
  Runtime.install({
    logger: temporalLogger(log),
    // The process decides when it stops, and in which order.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metricsAddress === undefined
        ? {}
        : { metrics: { prometheus: { bindAddress: metricsAddress } } }),
    },
  });
}
