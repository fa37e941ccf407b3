/** Changes of the status as Events, under MCO's reasons, and in the log. */

import type { Log } from '../../adapters/kube/transport';
import { OperatorCondition, type OperatorStatus } from '../../core/operator-status';
import type { EventRecorder, Subject } from '../event-recorder';

interface Told {
  readonly events: EventRecorder;
  readonly log: Log;
}

/** @param before - absent: nothing was said before, also by no earlier leader */
export function tellChange(
  { events, log }: Told,
  before: OperatorStatus | undefined,
  after: OperatorStatus,
  subjects: readonly Subject[],
): void {
  const degraded = conditionIn(after, OperatorCondition.DEGRADED);
  const wasDegraded = conditionIn(before, OperatorCondition.DEGRADED);
  const isNews =
    degraded?.status !== wasDegraded?.status || degraded?.reason !== wasDegraded?.reason;
  if (isNews && degraded?.status === 'True') {
    const { reason, message } = degraded;
    // Who found the cause has warned.
    log.info({ reason, message }, 'the system is degraded');
    for (const subject of subjects) {
      events.record(subject, 'Warning', `OperatorDegraded: ${reason}`, message);
    }
  }
  if (isNews && degraded?.status === 'False' && wasDegraded !== undefined) {
    log.info({}, 'the system is not degraded any more');
    for (const subject of subjects) events.over(subject, `OperatorDegraded: ${wasDegraded.reason}`);
  }
  const text = versionChange(before, after);
  if (text === undefined) return;
  log.info({ change: text }, 'the version of the system changes');
  for (const subject of subjects) events.record(subject, 'Normal', 'OperatorVersionChanged', text);
}

/** Once when it begins, and once when it is over. */
function versionChange(
  before: OperatorStatus | undefined,
  after: OperatorStatus,
): string | undefined {
  const [from, to] = [before, after].map((status) => operatorVersion(status));
  if (before !== undefined && from !== to) return `the version is ${to}, after ${from}`;
  const [was, is] = [before, after].map((status) => conditionIn(status, 'Progressing'));
  const hasBegun = is?.reason === 'VersionChanging' && was?.reason !== 'VersionChanging';
  return hasBegun ? `the version changes ${is.message}` : undefined;
}

function operatorVersion(status: OperatorStatus | undefined): string | undefined {
  return status?.versions.find(({ name }) => name === 'operator')?.version;
}

function conditionIn(status: OperatorStatus | undefined, type: OperatorCondition) {
  return status?.conditions.find((condition) => condition.type === type);
}
