import { fail } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { movedTo } from '../../core/rollout';
import type { NodeStep } from '../../workflows/contracts/cluster';
import { refuseHeld } from './node-changes';
import type { ClusterPorts } from './ports';

/**
 * Refuses a node whose update is not wanted any more.
 *
 * @throws `NodeMoved`, `HeldByUser`, `Retargeted`
 */
export function refuseUnwanted(
  node: Node,
  step: NodeStep,
  pools: Pick<ClusterPorts['view']['pools'], 'get' | 'list'>,
): void {
  const { name } = node.metadata;
  refuseMoved(node, step, pools);
  if (step.takesBack === true) return;
  refuseHeld(node, step);
  const target = pools.get(step.pool)?.spec.configuration?.name ?? step.config;
  if (target === step.config) return;
  throw fail('Retargeted', `pool ${step.pool} is rolled to ${target} now`, { node: name });
}

/** The grant is of this pool. @throws `NodeMoved` */
export function refuseMoved(
  node: Node,
  { pool }: Pick<NodeStep, 'pool'>,
  pools: Pick<ClusterPorts['view']['pools'], 'list'>,
): void {
  const { name } = node.metadata;
  const to = movedTo(node, pool, pools.list());
  if (to === undefined) return;
  throw fail('NodeMoved', `node ${name} belongs to ${to}, and no longer to pool ${pool}`, {
    node: name,
  });
}
