import { failureName } from '../../core/errors';
import { NodePhase } from '../../core/node/lifecycle';
import { currentConfigOf } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import type { ClusterActivities, ReleaseNodeInput } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { releaseChange } from './node-changes';
import { showPhase } from './show-phase';
import { tell } from './tell';
import { written } from './written-node';

/**
 * Gives a node back after an update that failed or was cancelled, and says why. Safe to run twice.
 * A node that no longer exists has nothing to be given back.
 */
export function createReleaseNode(ports: ClusterPorts): ClusterActivities['releaseNode'] {
  return async (input) => {
    const hasFailed = input.outcome === 'failed' || !input.hostIsBack;
    const reported = { ...input, reason: reasonOf(input) };
    const node = await released(ports, reported);
    if (node === undefined) {
      ports.run().log.warn('node is gone, nothing to release', { node: input.node });
      return undefined;
    }
    const current = currentConfigOf(node);
    await showPhase(ports, {
      node,
      pool: input.pool,
      config: input.config,
      ...(hasFailed || current === undefined ? {} : { desired: current }),
      phase: hasFailed ? NodePhase.DEGRADED : NodePhase.CANCELLED,
      message: reported.reason,
      ...(input.unreconcilable ? { failure: 'Unreconcilable' } : {}),
    });
    ports.run().log.info(hasFailed ? 'node update failed' : 'node update cancelled', {
      node: input.node,
      config: input.config,
      reason: reported.reason,
    });
    if (hasFailed) await tell(ports, node, 'Warning', 'UpdateFailed', reported.reason);
    return written(node);
  };
}

/** Undefined = the node is gone, as the server says; a picture may be too old to know it yet. */
async function released(ports: ClusterPorts, input: ReleaseNodeInput): Promise<Node | undefined> {
  try {
    return await ports.nodes.change(input.node, (known) => releaseChange(known, input));
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return undefined;
    throw error;
  }
}

function reasonOf(input: ReleaseNodeInput): string {
  return input.hostIsBack
    ? input.reason
    : `${input.reason}; the host could not be taken back, so the node is cordoned`;
}
