/**
 * What a rollout remembers on its pool on behalf of a person. Each is safe to run twice, and decided on
 * the pool as it is: what a person has changed since is not undone by a step that comes late.
 */

import { fail } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterActivities } from '../../workflows/cluster-contracts';
import type { ClusterPorts, PoolChange } from './ports';
import { whileAwaited } from './still-wanted';

/**
 * Pauses or resumes a pool.
 *
 * @throws `RefusedRequest` when the pause that was to end is another one by now
 */
export function createSetPoolPaused(ports: ClusterPorts): ClusterActivities['setPoolPaused'] {
  return async (input) => {
    const { pool, paused, reason } = input;
    await change(ports, pool, (known) => pauseChange(known, input));
    ports.run().log.info(paused ? 'paused pool' : 'resumed pool', { pool, reason });
  };
}

/** Remembers that a person cancelled the rollout of a config, so that nobody starts it again. */
export function createMarkRolloutCancelled(
  ports: ClusterPorts,
): ClusterActivities['markRolloutCancelled'] {
  return async ({ pool, ofPool, ...said }) => {
    let { config } = said;
    await change(ports, pool, (known) => {
      if (ofPool === true) config = known.spec.configuration?.name || undefined;
      // Without a config no rollout is started that would have to be kept from it.
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

/**
 * Remembers that a person started the rollout of a config, so that it is started again when Temporal has
 * lost it.
 */
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

/** Writes what is not so already, if somebody still waits for it. */
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
  // Whoever paused it before has said why.
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

/** What of a change is not so already; undefined = all of it is. */
function difference(known: MachineConfigPool, wanted: PoolChange): PoolChange | undefined {
  const annotations = Object.entries(wanted.annotations).filter(
    ([key, value]) => (known.metadata.annotations?.[key] ?? null) !== value,
  );
  const { paused } = wanted;
  const isOther = paused !== undefined && paused !== (known.spec.paused ?? false);
  if (annotations.length === 0 && !isOther) return undefined;
  return { annotations: Object.fromEntries(annotations), ...(isOther ? { paused } : {}) };
}
