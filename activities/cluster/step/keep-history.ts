import { failureName, messageOf } from '../../../core/errors';
import { historyAfter, type Stepped } from '../../../core/history/rollouts';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { StepPorts } from './ports';

/**
 * Writes on the pool that a rollout begins, stands still or ends, unless it is there. A policy of the cluster that
 * refuses this holds up nobody.
 */
export async function keepHistory(
  { pools, run }: Pick<StepPorts, 'pools' | 'run'>,
  pool: MachineConfigPool,
  stepped: Stepped,
): Promise<void> {
  const { name } = pool.metadata;
  if (historyAfter(pool, stepped) === undefined) return;
  try {
    await pools.change(name, (known) => Promise.resolve(historyAfter(known, stepped)));
  } catch (error) {
    if (!['ApiRefused', 'ObjectNotFound'].includes(failureName(error) ?? '')) throw error;
    run().log.warn('the history of the pool is not written', {
      pool: name,
      reason: messageOf(error),
    });
  }
}
