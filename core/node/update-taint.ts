/**
 * The taint of a node that a rollout will drain, so that pods prefer other nodes. Key and effect
 * are MCO's, so a taint of MCO counts as the same.
 *
 * @see MCO pkg/controller/node/node_controller.go, setUpdateInProgressTaint,
 * removeUpdateInProgressTaint (7ff337a4)
 */

import { UPDATE_TAINT } from '../names';
import { isSameTaint } from './same-taint';
import type { Node, NodeTaint } from './types';

/** The same key with another effect is not Slipway's taint. */
function isUpdateTaint(taint: NodeTaint): boolean {
  return isSameTaint(taint, UPDATE_TAINT);
}

export function hasUpdateTaint({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(isUpdateTaint);
}

/** The whole list of taints with it: the API server replaces lists as a whole. */
export function taintsWithUpdate(node: Node): readonly NodeTaint[] {
  return [...otherTaints(node), UPDATE_TAINT];
}

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
