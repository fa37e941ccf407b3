/**
 * Records a person's requests to a rollout on its pool. Each is safe to run twice, and decided on a
 * fresh read: a late step does not undo a person's later change.
 */

import { fail } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterActivities } from '../../workflows/contracts/cluster';
import type { ClusterPorts, PoolChange } from './ports';
import { whileAwaited } from './still-wanted';

/** @throws `RefusedRequest` when the pause to end has been replaced by another */
export function createSetPoolPaused(ports: ClusterPorts): ClusterActivities['setPoolPaused'] {
  return async (input) => {
    const { pool, paused, reason } = input;
    await change(ports, pool, (known) => pauseChange(known, input));
    ports.run().log.info(paused ? 'paused pool' : 'resumed pool', { pool, reason });
  };
}

/** Marks the rollout of a config as cancelled, so that it is not started again. */
export function createMarkRolloutCancelled(
  ports: ClusterPorts,
): ClusterActivities['markRolloutCancelled'] {
  return async ({ pool, ofPool, ...said }) => {
    let { config } = said;
    await change(ports, pool, (known) => {
      if (ofPool === true) config = known.spec.configuration?.name || undefined;
      // Without a config there is no rollout to prevent.
      if (ofPool === true && config === undefined) return { annotations: {} };
      return {
        annotations: {
          [ANNOTATION.ROLLOUT_CANCELLED]: config ?? null,
          ...(config === undefined ? {} : { [ANNOTATION.ROLLOUT_STARTED]: null }),
        },
      };
    });
    const { log } = ports.run();
    if (config !== undefined) log.info('marked rollout as cancelled', { pool, config });
    else if (ofPool !== true) log.info('forgot a cancelled rollout', { pool });
  };
}

/** Marks the rollout of a config as started, so that it is started again if Temporal loses it. */
export function createMarkRolloutStarted(
  ports: ClusterPorts,
): ClusterActivities['markRolloutStarted'] {
  return async ({ pool, config }) => {
    const annotations = { [ANNOTATION.ROLLOUT_STARTED]: config ?? null };
    await change(ports, pool, () => ({ annotations }));
    const text = config === undefined ? 'forgot a started rollout' : 'marked rollout as started';
    ports.run().log.info(text, { pool, ...(config === undefined ? {} : { config }) });
  };
}

async function change(
  ports: ClusterPorts,
  pool: string,
  wanted: (known: MachineConfigPool) => PoolChange,
): Promise<void> {
  const refuseUnawaited = whileAwaited(ports, { pool });
  await ports.pools.change(pool, async (known) => {
    const left = difference(known, wanted(known));
    if (left !== undefined) await refuseUnawaited();
    return left;
  });
}

function pauseChange(
  known: MachineConfigPool,
  { pool, paused, reason, ends }: Parameters<ClusterActivities['setPoolPaused']>[0],
): PoolChange {
  const isPaused = known.spec.paused === true;
  // The first person to pause gave the reason.
  if (paused && isPaused) return { annotations: {} };
  const because = known.metadata.annotations?.[ANNOTATION.PAUSED_REASON];
  if (!paused && isPaused && ends !== undefined && ends.reason !== because) {
    throw fail(
      'RefusedRequest',
      `pool ${pool} is paused for another reason since (${because ?? 'none is given'}); ` +
        'resume it again to end that pause',
    );
  }
  return { paused, annotations: { [ANNOTATION.PAUSED_REASON]: paused ? reason : null } };
}

function difference(known: MachineConfigPool, wanted: PoolChange): PoolChange | undefined {
  const annotations = Object.entries(wanted.annotations).filter(
    ([key, value]) => (known.metadata.annotations?.[key] ?? null) !== value,
  );
  const { paused } = wanted;
  const isOther = paused !== undefined && paused !== (known.spec.paused ?? false);
  if (annotations.length === 0 && !isOther) return undefined;
  return { annotations: Object.fromEntries(annotations), ...(isOther ? { paused } : {}) };
}
