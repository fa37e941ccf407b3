/**
 * First status of the MachineConfigNode of a machine that came with its config, for `kubectl get
 * mcn`.
 */

import { ANNOTATION, NodeCondition, NodeState } from '../../core/names';
import { mcnConditions } from '../../core/node/conditions';
import { NodePhase } from '../../core/node/lifecycle';
import { annotationOf, currentConfigOf, desiredConfigOf } from '../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { ShownStatus } from './show-status';

/** The config of a node that is Done on its desired config. */
export function restsOn(node: Node): string | undefined {
  const config = currentConfigOf(node);
  const isDone = annotationOf(node, ANNOTATION.STATE) === NodeState.DONE;
  return isDone && config === desiredConfigOf(node) ? config : undefined;
}

/**
 * Undefined = an update or this function has written it.
 *
 * @param now - RFC 3339
 */
export function firstStatus(
  node: Node,
  known: MachineConfigNode,
  now: string,
): ShownStatus | undefined {
  const config = restsOn(node);
  const before = known.status?.conditions ?? [];
  const isShown = before.some(({ type }) => type === NodeCondition.UPDATED);
  if (config === undefined || isShown) return undefined;
  return {
    observedGeneration: known.metadata.generation ?? 1,
    configVersion: { desired: config, current: config },
    conditions: mcnConditions(NodePhase.UPDATED, before, { config, now }),
  };
}
