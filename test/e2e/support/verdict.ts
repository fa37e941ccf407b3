/** The verdict of the observer in its own process, at the end of a suite. */

import type { Assignment } from '../../observer/protocol';
import { observeInOwnProcess, type ObserverProcess } from '../../observer/own-process';
import { describeViolation, type Fault } from '../../observer/violation';
import type { Cluster } from '../../../tools/cluster';
import type { TemporalServer } from '../../../tools/temporal';

interface Judged extends Pick<Assignment, 'nodeSelector' | 'pool' | 'minAvailable'> {
  readonly cluster: Pick<Cluster, 'adminKubeconfig' | 'auditLog'>;
  readonly temporal: Pick<TemporalServer, 'address' | 'namespace' | 'payloadKeys'>;
  /** Time limit for one answer of Temporal; absent = long enough for suites that stop Temporal. */
  readonly patienceMs?: number;
  readonly maxUnavailable: number;
}

export function startJudge({
  cluster,
  temporal,
  patienceMs,
  ...rest
}: Judged): Promise<ObserverProcess> {
  const { adminKubeconfig, auditLog } = cluster;
  const { address, namespace, payloadKeys } = temporal;
  return observeInOwnProcess({
    ...rest,
    kubeconfig: adminKubeconfig,
    temporal: {
      ...{ address, namespace },
      ...(patienceMs === undefined ? {} : { patienceMs }),
      ...(payloadKeys === undefined ? {} : { payloadKeys: payloadKeys.directory }),
    },
    ...(auditLog === undefined ? {} : { auditLog }),
  });
}

/**
 * Lets it judge the pool at rest, ends it, and returns its findings.
 *
 * @param broken - what the suite itself breaks: it cuts the power and boots machines
 * @throws Error with every other violation, or when the observer ended early
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
