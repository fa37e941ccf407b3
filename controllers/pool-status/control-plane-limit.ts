/** Shows on a pool that the quorum allows fewer nodes at once than its maxUnavailable. */

import { PoolCondition } from '../../core/names';
import type { Node } from '../../core/node/types';
import { setCondition } from '../../core/pool/conditions';
import type { PoolStatus } from '../../core/pool/status';
import type { MachineConfigPool } from '../../core/pool/types';
import { isLimitedByQuorum, loweredSentence } from '../../core/rollout';

const TYPE = PoolCondition.CONTROL_PLANE_LIMITED;

/** @param total - control-plane nodes of the cluster @param now - RFC 3339 */
export function withControlPlaneLimit(
  status: PoolStatus,
  pool: MachineConfigPool,
  members: readonly Node[],
  total: number,
  now: string,
): PoolStatus {
  const conditions = status.conditions ?? [];
  if (!isLimitedByQuorum(pool, members, total)) {
    return { ...status, conditions: conditions.filter(({ type }) => type !== TYPE) };
  }
  const reason = 'EtcdQuorum';
  const message = loweredSentence(total);
  return {
    ...status,
    conditions: setCondition(conditions, { type: TYPE, status: 'True', reason, message }, now),
  };
}
