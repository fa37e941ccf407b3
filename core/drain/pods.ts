/** The Pod fields that a drain reads, spelled as in Kubernetes. */

import type { ObjectMeta, OwnerReference } from '../object-meta';
import { rfc3339 } from '../rfc3339';

export interface Pod {
  /** `namespace` is always set on a pod from the API. */
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** On mirrors of pods that a kubelet runs from a file; the API cannot remove those pods. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** `namespace/name`, as kubectl writes it. */
export function nameOf(object: { readonly metadata: ObjectMeta }): string {
  const { namespace = '', name } = object.metadata;
  return `${namespace}/${name}`;
}

/** The owner that recreates the pod, if there is one. */
export function controllerOf(pod: Pod): OwnerReference | undefined {
  return pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** A terminating pod needs no eviction, only time. */
export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/**
 * When the deletion was requested, RFC 3339; undefined = it was not. `deletionTimestamp` is the end
 * of the grace period; the API server changes both together when the period is shortened.
 */
export function terminatingSince({ metadata }: Pod): string | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === 0) return deletionTimestamp;
  const sinceMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return rfc3339(sinceMs);
}

export function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ??
    false
  );
}

/**
 * The owner for a person: `Deployment shop/cart`. The ReplicaSet between a Deployment and its pods
 * is skipped.
 */
export function ownerText(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  if (owner === undefined) return undefined;
  const { namespace = '' } = pod.metadata;
  const hash = pod.metadata.labels?.['pod-template-hash'];
  const isOfDeployment =
    owner.kind === 'ReplicaSet' && hash !== undefined && owner.name.endsWith(`-${hash}`);
  return isOfDeployment
    ? `Deployment ${namespace}/${owner.name.slice(0, -hash.length - 1)}`
    : `${owner.kind} ${namespace}/${owner.name}`;
}
