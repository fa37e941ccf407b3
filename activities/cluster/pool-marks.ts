/** What a rollout remembers on its pool on behalf of a person. */

import { ANNOTATION } from '../../core/names';
import type { ClusterActivities } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';

/** Pauses or resumes a pool. Safe to run twice: the same fields get the same values. */
export function createSetPoolPaused(ports: ClusterPorts): ClusterActivities['setPoolPaused'] {
  return async ({ pool, paused, reason }) => {
    await ports.pools.change(pool, {
      paused,
      annotations: { [ANNOTATION.PAUSED_REASON]: paused ? reason : null },
    });
    ports.run().log.info(paused ? 'paused pool' : 'resumed pool', { pool, reason });
  };
}

/** Remembers that a person cancelled the rollout of a config, so that nobody starts it again. Safe to run twice. */
export function createMarkRolloutCancelled(
  ports: ClusterPorts,
): ClusterActivities['markRolloutCancelled'] {
  return async ({ pool, config }) => {
    await ports.pools.change(pool, {
      annotations: {
        [ANNOTATION.ROLLOUT_CANCELLED]: config ?? null,
        ...(config === undefined ? {} : { [ANNOTATION.ROLLOUT_STARTED]: null }),
      },
    });
    if (config === undefined) ports.run().log.info('forgot a cancelled rollout', { pool });
    else ports.run().log.info('marked rollout as cancelled', { pool, config });
  };
}

/**
 * Remembers that a person started the rollout of a config, so that it is started again when Temporal has
 * lost it. Safe to run twice.
 */
export function createMarkRolloutStarted(
  ports: ClusterPorts,
): ClusterActivities['markRolloutStarted'] {
  return async ({ pool, config }) => {
    await ports.pools.change(pool, {
      annotations: { [ANNOTATION.ROLLOUT_STARTED]: config ?? null },
    });
    const text = config === undefined ? 'forgot a started rollout' : 'marked rollout as started';
    ports.run().log.info(text, { pool, ...(config === undefined ? {} : { config }) });
  };
}
