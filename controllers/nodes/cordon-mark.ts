import { ANNOTATION } from '../../core/names';
import { annotationOf } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import { isCordonedBySlipway } from '../../core/rollout';

/**
 * Both are written and removed in one write, so a person uncordoned the node. If it is cordoned
 * since, that cordon is the person's.
 */
export function isCordonMarkLeftOver(node: Node): boolean {
  return annotationOf(node, ANNOTATION.CORDONED_BY) !== undefined && !isCordonedBySlipway(node);
}

/** For exactly this version of the Node, which may be cordoned again by now. */
export function cordonMarkCleared({ metadata: { resourceVersion } }: Node): object {
  return {
    metadata: {
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      annotations: { [ANNOTATION.CORDONED_BY]: null },
    },
  };
}
