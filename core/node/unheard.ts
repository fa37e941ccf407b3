/**
 * Nodes whose machine has joined, and whose host worker has not reported yet: an image without it, or one
 * that cannot reach Temporal or the server. They say nothing about a config, and must not keep others from it.
 */

import { driftCondition } from '../drift';
import { currentConfigOf, failedWithoutConfig } from './predicates';
import type { MachineConfigNode, Node } from './types';
import { isCordonedBySlipway } from './availability';

/** No config was ever verified on it, and its host has not reported (`core/node/adoption.ts`). */
export function isUnheard(
  node: Node,
  known: Pick<MachineConfigNode, 'status'> | undefined,
): boolean {
  return currentConfigOf(node) === undefined && driftCondition(known) === undefined;
}

/** Its update failed for that alone, before anything was done to the node. */
export function failedUnheard(
  node: Node,
  known: Pick<MachineConfigNode, 'status'> | undefined,
): boolean {
  return isUnheard(node, known) && failedWithoutConfig(node) && !isCordonedBySlipway(node);
}
