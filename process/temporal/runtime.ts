/** Temporal's native part, once per process: logs, metrics, no signal handlers. */

import { IllegalStateError } from '@temporalio/common';
import { makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { PHASE_METRIC } from '../../core/node/lifecycle';
import { temporalLogger, type Logger } from '../logging';

/** For metrics of the workflows. */
const BUCKETS = {
  histogramBucketOverrides: {
    [PHASE_METRIC]: [1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 3600],
  },
};

/**
 * Installs the runtime unless one is there. The SDK drops it with the last native connection, so
 * call this before each `NativeConnection.connect`.
 *
 * @param metricsAddress - `host:port` where the SDK serves its own metrics; absent: nowhere
 */
export function installTemporalRuntime(log: Logger, metricsAddress?: string): void {
  try {
    Runtime.install({
      logger: temporalLogger(log),
      // The process itself decides when and in which order it stops.
      shutdownSignals: [],
      telemetryOptions: {
        logging: {
          forward: {},
          filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }),
        },
        ...(metricsAddress === undefined
          ? {}
          : { metrics: { prometheus: { bindAddress: metricsAddress, ...BUCKETS } } }),
      },
    });
  } catch (error) {
    // As when a process runs two workers.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
