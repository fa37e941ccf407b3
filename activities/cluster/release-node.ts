import { NodePhase } from '../../core/node/lifecycle';
import { currentConfigOf, isUnschedulable } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import type { ClusterActivities, ReleaseNodeInput } from '../../workflows/contracts/cluster';
import type { ClusterPorts, NodeChange } from './ports';
import { changeInTurn } from './in-turn';
import { unlessGone } from './known-node';
import { hasTaken, isOutOfService, releaseChange, type Turned } from './node-changes';
import { showPhase } from './show-phase';
import { whileAwaited, whileWanted } from './still-wanted';
import { tell } from './tell';

/**
 * Returns a node to service after a failed or cancelled update, with the reason. Safe to run twice.
 * Skips a deleted node.
 */
export function createReleaseNode(ports: ClusterPorts): ClusterActivities['releaseNode'] {
  return async (input) => {
    const throwIfGivenUp = whileWanted(ports, input);
    const found = { isOut: false, reason: input.reason };
    const change = (known: Node, step: Turned<ReleaseNodeInput>): NodeChange | undefined => {
      throwIfGivenUp();
      // Decided on the Node before the write: the write itself ends the run.
      found.isOut = isOutOfService(known, input);
      found.reason = reasonOf(known, input, found.isOut);
      const { reason } = found;
      return releaseChange(known, { ...step, reason }, new Date(ports.now()).toISOString());
    };
    // No later step of the update could mark that this one is late.
    const throwUnlessAwaited = whileAwaited(ports, input);
    const node = await unlessGone(() => changeInTurn(ports, input, change, throwUnlessAwaited));
    if (node === undefined) {
      ports.run().log.warn('node is gone, nothing to release', { node: input.node });
      return;
    }
    ports.rollouts.wake(input.pool, { nodes: versionOf(node) });
    const { isOut, reason } = found;
    const hasFailed = input.outcome === 'failed' || isOut;
    const current = currentConfigOf(node);
    // It shows what the node is on, or what it failed on.
    if (!hasFailed && (!input.hostIsBack || current === undefined)) return;
    await showPhase(ports, {
      node,
      pool: input.pool,
      config: input.config,
      ...(hasFailed || current === undefined ? {} : { desired: current }),
      phase: hasFailed ? NodePhase.DEGRADED : NodePhase.CANCELLED,
      message: reason,
      throwIfGivenUp,
      ...(input.unreconcilable ? { failure: 'Unreconcilable' } : {}),
    });
    ports.run().log.info(hasFailed ? 'node update failed' : 'node update cancelled', {
      node: input.node,
      config: input.config,
      reason,
    });
    const failure = input.unreconcilable ? 'FailedToReconcile' : 'UpdateFailed';
    if (hasFailed) tell(ports, node, 'Warning', failure, reason);
  };
}

function reasonOf(node: Node, input: ReleaseNodeInput, isOut: boolean): string {
  if (!isOut) return input.reason;
  const why = hasTaken(input.run, node)
    ? 'the host could not be rolled back'
    : 'the host has not settled an unfinished update';
  // A cancelled update leaves the node in service if a person uncordoned it.
  const isCordoned = input.outcome === 'failed' || isUnschedulable(node);
  return `${input.reason}; ${why}${isCordoned ? ', so the node is cordoned' : ''}`;
}
