/**
 * The Kubernetes object fields that the domain reads, spelled as in Kubernetes, and the order of
 * their versions.
 */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  /** RFC 3339; present = being deleted. The time of the request plus the grace period. */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
}

/** `undefined` or empty matches nothing, as everywhere in MCO. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** `lastTransitionTime` is RFC 3339. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

/** Versions are growing numbers, which the API conventions promise since Kubernetes 1.35. */
export function versionOf({
  metadata: { resourceVersion },
}: {
  readonly metadata: Pick<ObjectMeta, 'resourceVersion'>;
}): number {
  return Number(resourceVersion ?? 0);
}
