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
  const moved = movedTo(node, step.pool, pools.list());
  if (moved !== undefined) {
    const message = `node ${name} belongs to ${moved}, and no longer to pool ${step.pool}`;
    throw fail('NodeMoved', message, { node: name });
  }
  if (step.takesBack === true) return;
  refuseHeld(node, step);
  const target = pools.get(step.pool)?.spec.configuration?.name ?? step.config;
  if (target === step.config) return;
  throw fail('Retargeted', `pool ${step.pool} is rolled to ${target} now`, { node: name });
}
