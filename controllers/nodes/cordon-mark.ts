/** The mark that Slipway leaves on a Node that it cordons, when the cordon is gone without it. */

import { ANNOTATION } from '../../core/names';
import { annotationOf } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import { isCordonedBySlipway } from '../../core/rollout';

/**
 * Whether the mark outlived its cordon. Cordon and mark come and go in one write, so a person took the
 * cordon away: of a host that could not be taken back, say, or in the middle of an update. They may have
 * cordoned the node again since, which is no cordon of Slipway's.
 */
export function isCordonMarkLeftOver(node: Node): boolean {
  return annotationOf(node, ANNOTATION.CORDONED_BY) !== undefined && !isCordonedBySlipway(node);
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
