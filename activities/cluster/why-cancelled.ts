import { failureName, messageOf } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigPool } from '../../core/pool/types';
import type { CancelReason } from '../../core/node/update-states';
import type { ClusterActivities, NodeStep } from '../../workflows/contracts/cluster';
import { orDeleted, refuseAnotherNode, unlessGone } from './known-node';
import type { ClusterPorts } from './ports';
import { refuseUnwanted } from './unwanted';

type WhyPorts = Pick<ClusterPorts, 'nodes' | 'pools'> & {
  readonly view: Pick<ClusterPorts['view'], 'pools'>;
};

const NAMES: readonly NonNullable<CancelReason['name']>[] = [
  'NodeDeleted',
  'NodeMoved',
  'HeldByUser',
  'Retargeted',
];

/**
 * Says why an update is cancelled: a step of its rollout cancels what is not wanted, and people cancel workflows. On a
 * fresh read of the pool: the step may have seen more than the caches here, and only what a person did holds the node.
 */
export function createWhyCancelled(ports: WhyPorts): ClusterActivities['whyCancelled'] {
  return async (input) => {
    const pool = await unlessGone(() =>
      ports.pools.change(input.pool, () => Promise.resolve(undefined)),
    );
    try {
      await refuseCancelled(ports, input, pool);
    } catch (error) {
      const name = NAMES.find((known) => known === failureName(error));
      if (name === undefined) throw error;
      return { name, reason: messageOf(error) };
    }
    if (pool === undefined) return { reason: 'its pool was deleted' };
    if (pool.metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED] === input.config) {
      return { reason: 'a person cancelled the rollout' };
    }
    return { reason: 'a person cancelled the update in Temporal', holds: true };
  };
}

async function refuseCancelled(
  { nodes, view }: WhyPorts,
  input: NodeStep,
  pool: MachineConfigPool | undefined,
): Promise<void> {
  const node = await orDeleted(input.node, () => nodes.read(input.node));
  refuseAnotherNode(node, input);
  refuseUnwanted(node, input, { list: () => view.pools.list(), get: () => pool });
}
