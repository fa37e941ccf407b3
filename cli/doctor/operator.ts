/** What Slipway says of itself. */

import { CLUSTER_OPERATOR, OperatorCondition, SLIPWAY } from '../../core/operator-status';
import { LABEL, FIELD_MANAGER } from '../../core/names';
import { ok, problem, warning, type Finding } from './finding';
import type { DoctorCluster } from './ports';

const OBJECT = `slipway ${SLIPWAY}`;
const LOOK = 'kubectl -n slipway logs -l app.kubernetes.io/name=slipway-controllers --tail=-1';
const DESCRIBE = `kubectl describe slipway ${SLIPWAY} (docs/status.md)`;

export async function operator(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const [status, isForeign] = await Promise.all([
    cluster.operatorStatus(),
    cluster.hasForeignOperator(),
  ]);
  if (status === undefined) {
    return [problem(OBJECT, 'has no status: no controllers lead, or they may not write it', LOOK)];
  }
  const bad = status.conditions.find(
    ({ type, status: is }) =>
      (type === OperatorCondition.DEGRADED && is === 'True') ||
      (type === OperatorCondition.AVAILABLE && is === 'False'),
  );
  const own =
    bad === undefined
      ? ok(OBJECT, status.message)
      : problem(OBJECT, `${bad.type} is ${bad.status} (${bad.reason}): ${bad.message}`, DESCRIBE);
  return [own, ...(isForeign ? [FOREIGN] : [])];
}

const FOREIGN = warning(
  `clusteroperator ${CLUSTER_OPERATOR}`,
  'is of another program, so Slipway does not write its status there',
  `delete it, or kubectl label clusteroperator ${CLUSTER_OPERATOR} ${LABEL.MANAGED_BY}=${FIELD_MANAGER.CONTROLLERS}`,
);
