import { ANNOTATION } from '../names';
import type { MachineConfigPool, ResolvedPolicy } from '../pool/types';
import { isTargetCancelled } from './cancelled';

/** No update of the pool begins before a person acts. */
export interface PersonWait {
  readonly reason: 'Paused' | 'RolloutCancelled' | 'WaitingForTrigger';
  /** What the person has to type. */
  readonly command: string;
}

/** Undefined = it waits for nobody. */
export function waitForPerson(
  pool: MachineConfigPool,
  { trigger }: Partial<Pick<ResolvedPolicy, 'trigger'>>,
): PersonWait | undefined {
  const { name, annotations } = pool.metadata;
  const command = `slipway rollout start ${name}`;
  if (pool.spec.paused === true) {
    return { reason: 'Paused', command: `slipway rollout resume ${name}` };
  }
  if (isTargetCancelled(pool)) return { reason: 'RolloutCancelled', command };
  const isStarted = annotations?.[ANNOTATION.ROLLOUT_STARTED] !== undefined;
  return trigger === 'Manual' && !isStarted ? { reason: 'WaitingForTrigger', command } : undefined;
}
