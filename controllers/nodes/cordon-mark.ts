/** The mark that Slipway leaves on a Node that it cordons, when the cordon is gone without it. */

import { ANNOTATION } from '../../core/names';
import { annotationOf, isUnschedulable } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';

/**
 * Whether the mark outlived its cordon. Cordon and mark come and go in one write, so a person took the
 * cordon away: of a host that could not be taken back, say, or in the middle of an update. A later
 * cordon by that person would count as Slipway's, and go with the end of the update.
 */
export function isCordonMarkLeftOver(node: Node): boolean {
  return annotationOf(node, ANNOTATION.CORDONED_BY) !== undefined && !isUnschedulable(node);
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
