/** At 5,000 nodes whole objects cost hundreds of MB. */

import type { Pod, PodDisruptionBudget } from '../../core/drain';
import { MCO_GROUP, SLIPWAY_GROUP } from '../../core/names';
import type { ManagedFields, Node } from '../../core/node/types';
import type { ObjectMeta } from '../../core/object-meta';

const OURS = [`${MCO_GROUP}/`, `${SLIPWAY_GROUP}/`];

/** Without heartbeat times. */
export function trimNode(node: Node): Node {
  const { spec, status } = node;
  const { bootID, osImage } = status?.nodeInfo ?? {};
  const nodeInfo = { ...defined('bootID', bootID), ...defined('osImage', osImage) };
  const cordoners = cordonersOf(node);
  return {
    metadata: {
      ...trimMeta(node.metadata, {
        labels: true,
        annotations: (key) => OURS.some((prefix) => key.startsWith(prefix)),
      }),
      ...(cordoners.length === 0 ? {} : { managedFields: cordoners }),
    },
    spec: {
      ...(spec?.unschedulable === undefined ? {} : { unschedulable: spec.unschedulable }),
      ...(spec?.taints === undefined ? {} : { taints: spec.taints }),
    },
    status: {
      conditions: (status?.conditions ?? []).map(
        ({ type, status: state, lastTransitionTime, reason, message }) => ({
          type,
          status: state,
          ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
          ...(reason === undefined ? {} : { reason }),
          ...(message === undefined ? {} : { message }),
        }),
      ),
      ...(Object.keys(nodeInfo).length === 0 ? {} : { nodeInfo }),
    },
  };
}

function cordonersOf({ metadata, spec }: Node): readonly ManagedFields[] {
  if (spec?.unschedulable !== true) return [];
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:unschedulable'] !== undefined)
    .map(({ manager }) => ({
      ...defined('manager', manager),
      fieldsV1: { 'f:spec': { 'f:unschedulable': {} } },
    }));
}

export function trimPod(pod: Pod): Pod {
  const { spec, status } = pod;
  return {
    metadata: trimMeta(pod.metadata, {
      labels: true,
      annotations: (key) => key === 'kubernetes.io/config.mirror',
    }),
    spec: {
      ...(spec?.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
      volumes: (spec?.volumes ?? []).filter(({ emptyDir }) => emptyDir !== undefined),
    },
    status: {
      ...(status?.phase === undefined ? {} : { phase: status.phase }),
      conditions: (status?.conditions ?? [])
        .filter(({ type }) => type === 'Ready')
        .map(({ type, status: state }) => ({ type, status: state })),
    },
  };
}

export function trimBudget(budget: PodDisruptionBudget): PodDisruptionBudget {
  return {
    metadata: trimMeta(budget.metadata, { labels: false, annotations: () => false }),
    ...(budget.spec === undefined ? {} : { spec: budget.spec }),
    ...(budget.status === undefined ? {} : { status: statusOf(budget.status) }),
  };
}

export function trimToName<T extends { readonly metadata: ObjectMeta }>(
  object: T,
): { readonly metadata: ObjectMeta } {
  return { metadata: trimMeta(object.metadata, { labels: false, annotations: () => false }) };
}

function statusOf(
  status: NonNullable<PodDisruptionBudget['status']>,
): NonNullable<PodDisruptionBudget['status']> {
  const { observedGeneration, disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods } =
    status;
  return {
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(disruptionsAllowed === undefined ? {} : { disruptionsAllowed }),
    ...(currentHealthy === undefined ? {} : { currentHealthy }),
    ...(desiredHealthy === undefined ? {} : { desiredHealthy }),
    ...(expectedPods === undefined ? {} : { expectedPods }),
  };
}

function trimMeta(
  meta: ObjectMeta,
  keep: { readonly labels: boolean; readonly annotations: (key: string) => boolean },
): ObjectMeta {
  const annotations = Object.entries(meta.annotations ?? {}).filter(([key]) =>
    keep.annotations(key),
  );
  return {
    name: meta.name,
    ...defined('namespace', meta.namespace),
    ...defined('uid', meta.uid),
    ...defined('resourceVersion', meta.resourceVersion),
    ...defined('generation', meta.generation),
    ...(keep.labels ? defined('labels', meta.labels) : {}),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    ...defined('ownerReferences', meta.ownerReferences),
    ...defined('creationTimestamp', meta.creationTimestamp),
    ...defined('deletionTimestamp', meta.deletionTimestamp),
    ...defined('deletionGracePeriodSeconds', meta.deletionGracePeriodSeconds),
    ...defined('finalizers', meta.finalizers),
  };
}

function defined<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });
}
