/**
 * The objects that hold the status, and the pods of the processes: followed by the leader alone, so that a missing right
 * or kind keeps the status back, and nothing else.
 */

import { WatchCache } from '../../adapters/kube/cache';
import { whenCachesSynced } from '../../adapters/kube/cluster-caches';
import {
  CLUSTER_OPERATORS,
  PODS,
  SLIPWAYS,
  type KubeObject,
  type Resource,
} from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import type { WatchSource } from '../../adapters/kube/watch';
import {
  CLUSTER_OPERATOR,
  SLIPWAY,
  type ClusterOperator,
  type ProcessPod,
  type Slipway,
} from '../../core/operator-status';

export interface Followed {
  readonly slipway: WatchCache<Slipway>;
  /** Of a kind that only OpenShift serves. */
  readonly clusterOperator: WatchCache<ClusterOperator>;
  readonly pods: WatchCache<ProcessPod>;
}

export function followedObjects(namespace: string, log: Log): Followed {
  const pods: Resource = PODS;
  return {
    slipway: new WatchCache({
      resource: SLIPWAYS,
      fieldSelector: `metadata.name=${SLIPWAY}`,
      log,
    }),
    clusterOperator: new WatchCache({
      resource: CLUSTER_OPERATORS,
      fieldSelector: `metadata.name=${CLUSTER_OPERATOR}`,
      optional: true,
      log,
    }),
    pods: new WatchCache<ProcessPod>({
      resource: pods,
      namespace,
      labelSelector: 'app.kubernetes.io/part-of=slipway',
      transform: trimmed,
      log,
    }),
  };
}

/** Until the signal aborts. @param changed - called when all are known, and after each change */
export async function follow(
  followed: Followed,
  source: WatchSource,
  { signal, changed }: { readonly signal: AbortSignal; readonly changed: () => void },
): Promise<void> {
  const { slipway, clusterOperator, pods } = followed;
  void whenCachesSynced({ slipway, clusterOperator, pods }).then(changed);
  for (const cache of [slipway, clusterOperator, pods]) cache.subscribe(changed);
  await Promise.all([
    slipway.run(source, signal),
    clusterOperator.run(source, signal),
    pods.run(source, signal),
  ]);
}

export function isKnown({ slipway, clusterOperator, pods }: Followed): boolean {
  return slipway.isSynced && clusterOperator.isSynced && pods.isSynced;
}

/** An own write is known at once. */
export function absorb(followed: Followed, resource: Resource, object: KubeObject): void {
  for (const cache of [followed.slipway, followed.clusterOperator] as WatchCache<KubeObject>[]) {
    if (cache.resource.plural === resource.plural) cache.absorb(object);
  }
}

/** Whatever else is in a pod changes often, and concerns nobody here. */
function trimmed({ metadata, spec, status }: ProcessPod): ProcessPod {
  const { name, namespace, uid, resourceVersion, labels, deletionTimestamp } = metadata;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(labels === undefined ? {} : { labels }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: {
      containers: (spec?.containers ?? []).map(({ image }) =>
        image === undefined ? {} : { image },
      ),
    },
    status: {
      ...(status?.phase === undefined ? {} : { phase: status.phase }),
      ...(ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready.status }] }),
    },
  };
}
