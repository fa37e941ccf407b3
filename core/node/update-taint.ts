/**
 * The taint of a node that a rollout will drain: pods go elsewhere where there is room. Key and effect are
 * MCO's, so one that MCO has left is the same taint.
 *
 * @see MCO pkg/controller/node/node_controller.go, setUpdateInProgressTaint, removeUpdateInProgressTaint (7ff337a4)
 */

import { UPDATE_TAINT } from '../names';
import type { Node, NodeTaint } from './types';

/** Another effect under the same key is somebody else's. */
function isUpdateTaint({ key, effect }: NodeTaint): boolean {
  return key === UPDATE_TAINT.key && effect === UPDATE_TAINT.effect;
}

export function hasUpdateTaint({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(isUpdateTaint);
}

/** All taints of the node, with it: the API server knows no part of that list. */
export function taintsWithUpdate(node: Node): readonly NodeTaint[] {
  return [...otherTaints(node), UPDATE_TAINT];
}

/** All taints of the node but it. */
export function otherTaints({ spec }: Node): readonly NodeTaint[] {
  return (spec?.taints ?? []).filter((taint) => !isUpdateTaint(taint));
}

/** Whether nothing else of the node has changed. */
export function isOnlyUpdateTaint(before: Node, after: Node): boolean {
  return hasUpdateTaint(before) !== hasUpdateTaint(after) && withoutIt(before) === withoutIt(after);
}

function withoutIt(node: Node): string {
  return JSON.stringify({
    metadata: { ...node.metadata, resourceVersion: undefined, managedFields: undefined },
    spec: { ...node.spec, taints: otherTaints(node) },
    status: node.status,
  });
}
