/** The Pod fields that a drain reads, spelled as in Kubernetes. */

import type { ObjectMeta, OwnerReference } from '../object-meta';

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

/** On pods that a kubelet runs from a file; the API only mirrors them and cannot remove them. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** `namespace/name`, as kubectl writes it. */
export function nameOf(object: { readonly metadata: ObjectMeta }): string {
  const { namespace = '', name } = object.metadata;
  return `${namespace}/${name}`;
}

/** The one owner that recreates the pod, if it has one. */
export function controllerOf(pod: Pod): OwnerReference | undefined {
  return pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** Whether the pod has ended and nothing is lost with it. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Whether somebody has asked the pod to go already; it needs no eviction, only time. */
export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/**
 * When somebody asked the pod to go, RFC 3339; undefined = nobody has. Its `deletionTimestamp` is when its grace
 * period ends; the API server changes both together when the period is shortened.
 */
export function terminatingSince({ metadata }: Pod): string | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === 0) return deletionTimestamp;
  const sinceMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return new Date(sinceMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

export function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ??
    false
  );
}

/**
 * What a person would have to look at: `Deployment shop/cart`. The ReplicaSet between a Deployment and
 * its pods is passed over, since nobody works with it.
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
