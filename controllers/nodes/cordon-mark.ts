/** The mark that Slipway leaves on a Node that it cordons, when the cordon is gone without it. */

import { ANNOTATION, NodeState } from '../../core/names';
import { annotationOf, isUnschedulable } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';

/**
 * Whether the mark outlived its cordon: the node is schedulable and no update of it runs. Cordon and
 * mark come and go in one write, so a person took the cordon away, of a host that could not be taken
 * back, say. A later cordon by that person would count as Slipway's.
 */
export function isCordonMarkLeftOver(node: Node): boolean {
  return (
    annotationOf(node, ANNOTATION.CORDONED_BY) !== undefined &&
    !isUnschedulable(node) &&
    !isUnderUpdate(node)
  );
}

/** Takes the mark away from exactly this version of the Node: a newer one may be cordoned again. */
export function cordonMarkCleared({ metadata: { resourceVersion } }: Node): object {
  return {
    metadata: {
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      annotations: { [ANNOTATION.CORDONED_BY]: null },
    },
  };
}

function isUnderUpdate(node: Node): boolean {
  const state = annotationOf(node, ANNOTATION.STATE);
  return state === NodeState.WORKING || state === NodeState.REBOOTING;
}
