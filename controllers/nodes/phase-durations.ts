/** How long the phases of updates take, as the MachineConfigNodes show them. */

import type { CacheEvent, CacheView } from '../../adapters/kube/cache';
import { NodeCondition } from '../../core/names';
import { NodePhase } from '../../core/node/lifecycle';
import type { MachineConfigNode } from '../../core/node/types';

/** Called at the end of a phase whose beginning was seen. */
export type PhaseEnded = (pool: string, phase: NodePhase, seconds: number) => void;

/**
 * Measures from one change of a MachineConfigNode to the next, until the signal aborts. A phase that
 * had begun before is not measured: nobody knows since when.
 *
 * @param now - milliseconds, of a clock that never goes back
 */
export function measurePhases(
  nodes: Pick<CacheView<MachineConfigNode>, 'subscribe'>,
  ended: PhaseEnded,
  signal: AbortSignal,
  now: () => number = () => performance.now(),
): void {
  const begun = new Map<string, { readonly phase: NodePhase; readonly at: number }>();
  const changed = (event: CacheEvent<MachineConfigNode>): void => {
    const { object } = event;
    const { name } = object.metadata;
    const phase = event.type === 'deleted' ? undefined : phaseShown(object);
    const before = event.type === 'modified' ? phaseShown(event.previous) : undefined;
    if (event.type === 'modified' && phase === before) return;
    const last = begun.get(name);
    begun.delete(name);
    if (last !== undefined && event.type !== 'deleted') {
      ended(object.spec.pool.name, last.phase, (now() - last.at) / 1000);
    }
    if (phase !== undefined && event.type === 'modified') begun.set(name, { phase, at: now() });
  };
  const unsubscribe = nodes.subscribe(changed);
  signal.addEventListener('abort', unsubscribe, { once: true });
}

/** The phase that is in progress; undefined = no update works on the node. */
export function phaseShown({ status }: MachineConfigNode): NodePhase | undefined {
  const inProgress = new Map(
    (status?.conditions ?? [])
      .filter((condition) => condition.status === 'Unknown')
      .map((condition) => [condition.type, condition.reason]),
  );
  const is = (type: NodeCondition): boolean => inProgress.has(type);
  if (is(NodeCondition.UPDATE_COMPLETE)) {
    return is(NodeCondition.UNCORDONED) ? NodePhase.COMPLETING : NodePhase.VERIFYING;
  }
  if (is(NodeCondition.UPDATE_POST_ACTION_COMPLETE)) {
    return is(NodeCondition.REBOOTED_NODE) ? NodePhase.REBOOTING : NodePhase.RELOADING;
  }
  if (is(NodeCondition.UPDATE_EXECUTED)) {
    if (inProgress.get(NodeCondition.UPDATE_EXECUTED) === NodePhase.GOING_BACK) {
      return NodePhase.GOING_BACK;
    }
    if (is(NodeCondition.CORDONED)) return NodePhase.CORDONING;
    return is(NodeCondition.DRAINED) ? NodePhase.DRAINING : NodePhase.APPLYING;
  }
  return is(NodeCondition.UPDATE_PREPARED) ? NodePhase.PREPARING : undefined;
}
