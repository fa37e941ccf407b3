/**
 * The status of the whole system: a pure function of pools, components and what was said before.
 *
 * As in MCO, the new version counts as reached only when the pools that an upgrade requires are updated.
 *
 * @see MCO pkg/operator/status.go, syncVersion (006209bb)
 */

import { cut } from '../encoding/one-line';
import type { Condition } from '../object-meta';
import { setCondition } from '../pool/conditions';
import { componentVersions } from './components';
import {
  available,
  degraded,
  progressing,
  summary,
  upgradeable,
  type OperatorInput,
  type Pending,
} from './conditions';
import { hostWorkersLine } from './host-workers';
import { behindText, isBehind, poolLine } from './pools';
import { RELATED_OBJECTS } from './related-objects';
import type { ClusterOperatorStatus, NamedVersion, OperatorStatus } from './types';

const MESSAGE_LIMIT = 2048;

/** Deadlines pass while nothing changes, so it has to be asked for again now and then. */
export function operatorStatus(input: OperatorInput): OperatorStatus {
  const { own, components, hostWorkers, policyOf, before, now } = input;
  const pools = input.pools.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const sorted = { ...input, pools };
  const pending = pendingVersion(sorted);
  const values = [
    available(sorted),
    progressing(sorted, pending),
    degraded(sorted),
    upgradeable(sorted),
  ];
  const known = (before?.conditions ?? []).filter(({ type }) =>
    values.some((value) => value.type === type),
  );
  const conditions = values.reduce<readonly Condition[]>(
    (list, value) =>
      setCondition(list, { ...value, message: cut(value.message, MESSAGE_LIMIT) }, now),
    known,
  );
  const times = conditions.map(({ lastTransitionTime = now }) => lastTransitionTime);
  const reached = pending?.from ?? own.version;
  return {
    message: cut(summary(values), MESSAGE_LIMIT),
    since: times.reduce((latest, time) => (Date.parse(time) > Date.parse(latest) ? time : latest)),
    conditions,
    versions: [{ name: 'operator', version: reached }, ...versionsOf(input)],
    components,
    hostWorkers,
    pools: Object.fromEntries(
      pools.map((pool) => [pool.metadata.name, cut(poolLine(pool, policyOf), MESSAGE_LIMIT)]),
    ),
    relatedObjects: RELATED_OBJECTS,
  };
}

/** The same for OpenShift's kind. As in MCO, `extension` has a line for each pool. */
export function clusterOperatorStatus(status: OperatorStatus): ClusterOperatorStatus {
  const { conditions, versions, relatedObjects, pools, hostWorkers } = status;
  const extension = { ...pools, hostWorkers: hostWorkersLine(hostWorkers) };
  return { conditions, versions, relatedObjects, extension };
}

function versionsOf({ components, own, hostWorkers }: OperatorInput): readonly NamedVersion[] {
  const seen = componentVersions(components, own);
  // Leading proves that the controllers run, wherever that is.
  const others = seen.some(({ name }) => name === 'controllers')
    ? seen
    : [...seen, { name: 'controllers', version: own.version }];
  const hosts = hostWorkers.versions.map(({ version }) => version).join(', ');
  return hosts === '' ? others : [...others, { name: 'host-worker', version: hosts }];
}

/** Undefined = the version of the leader has been reached. */
function pendingVersion(input: OperatorInput): Pending | undefined {
  const { pools, policyOf, components, own, before } = input;
  const from = before?.versions.find(({ name }) => name === 'operator')?.version;
  if (from === undefined || from === own.version) return undefined;
  const images = new Set(components.flatMap((component) => component.images));
  const waitsFor = [
    ...(images.size > 1 ? [`the components run ${images.size} images`] : []),
    ...pools.filter(isBehind).map((pool) => behindText(pool, policyOf)),
  ];
  return waitsFor.length === 0 ? undefined : { from, waitsFor };
}
