import { NodeState } from '../../core/names';
import { desiredConfigOf, annotationOf } from '../../core/node/predicates';
import { ANNOTATION } from '../../core/names';
import type { ClusterActivities } from '../../workflows/contracts/cluster';
import type { ClusterPorts } from './ports';
import { knownNode } from './known-node';
import { showPhase } from './show-phase';

/**
 * Shows a phase while the host works. It may come late, so a node that has left this config is not
 * changed.
 */
export function createReportNodePhase(ports: ClusterPorts): ClusterActivities['reportNodePhase'] {
  return async ({ node: name, pool, config, phase, message }) => {
    const node = await knownNode(ports, name);
    const isWorking = annotationOf(node, ANNOTATION.STATE) === NodeState.WORKING;
    if (!isWorking || desiredConfigOf(node) !== config) return;
    await showPhase(ports, { node, pool, config, phase, message, mayBeLate: true });
  };
}
