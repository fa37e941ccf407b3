/**
 * Nodes whose machine has joined, and whose host worker nobody has heard of yet: an image without it, or
 * one that cannot reach the control plane. They say nothing about a config, and must not keep others from it.
 */

import { driftCondition } from '../drift';
import { ANNOTATION } from '../names';
import { annotationOf, currentConfigOf } from '../node/predicates';
import type { MachineConfigNode, Node } from '../node/types';
import { isCordonedBySlipway } from './availability';

/** What an update says of a host that did not answer, in the `reason` annotation. */
const UNREACHABLE = 'HostUnreachable: ';

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
  const reason = annotationOf(node, ANNOTATION.REASON) ?? '';
  return isUnheard(node, known) && reason.startsWith(UNREACHABLE) && !isCordonedBySlipway(node);
}
