/** The attempt that is under way, from Temporal's activity context. */

import { Context } from '@temporalio/activity';
import type { ActivityRun } from './ports';

/** @throws when called outside an activity */
export function currentRun(): ActivityRun {
  const context = Context.current();
  const { log } = context;
  return {
    signal: context.cancellationSignal,
    lastHeartbeat: context.info.heartbeatDetails,
    scheduledAtMs: context.info.scheduledTimestampMs,
    attemptMs: context.info.startToCloseTimeoutMs,
    log: {
      debug: (message, fields) => {
        log.debug(message, fields);
      },
      info: (message, fields) => {
        log.info(message, fields);
      },
      warn: (message, fields) => {
        log.warn(message, fields);
      },
    },
    heartbeat: (details) => {
      context.heartbeat(details);
    },
  };
}
