/** The word of the observer in its own process, when a suite is over. */

import type { Assignment } from '../../observer/protocol';
import { observeInOwnProcess, type ObserverProcess } from '../../observer/own-process';
import { describeViolation, type Fault } from '../../observer/violation';
import type { Cluster } from '../../../tools/cluster';
import type { TemporalServer } from '../../../tools/temporal';

/** Whom it looks at. */
export interface Judged extends Pick<Assignment, 'nodeSelector' | 'pool' | 'minAvailable'> {
  readonly cluster: Pick<Cluster, 'adminKubeconfig' | 'auditLog'>;
  readonly temporal: Pick<TemporalServer, 'address' | 'namespace'>;
  /** How long Temporal has for one answer; absent = as long as suites that take it away can wait. */
  readonly patienceMs?: number;
  readonly maxUnavailable: number;
}

/** Resolves when it watches. */
export function startJudge({
  cluster,
  temporal,
  patienceMs,
  ...rest
}: Judged): Promise<ObserverProcess> {
  const { adminKubeconfig, auditLog } = cluster;
  const { address, namespace } = temporal;
  return observeInOwnProcess({
    ...rest,
    kubeconfig: adminKubeconfig,
    temporal: { address, namespace, ...(patienceMs === undefined ? {} : { patienceMs }) },
    ...(auditLog === undefined ? {} : { auditLog }),
  });
}

/**
 * Lets it judge the pool at rest, ends it, and says what it found.
 *
 * @param broken - what the suite breaks with its own hands: it cuts the power, and boots by itself
 * @throws Error with every other violation, and when it had not lived to judge until now
 */
export async function hearVerdict(
  judge: ObserverProcess,
  broken: readonly Fault[] = [],
): Promise<void> {
  try {
    await judge.rest();
  } finally {
    await judge.stop();
  }
  const found = judge.violations.filter(({ invariant }) => !broken.includes(invariant));
  if (found.length === 0) return;
  throw new Error(`the observer found:\n${found.map(describeViolation).join('\n')}`);
}
