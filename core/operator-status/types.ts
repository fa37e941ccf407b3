/** What an operator of the cluster sees of the whole system: one object, `Slipway/cluster`. */

import type { Condition, ObjectMeta } from '../object-meta';

/** Its only name. */
export const SLIPWAY = 'cluster';

/** Of the ClusterOperator, where OpenShift's kind is served. */
export const CLUSTER_OPERATOR = 'slipway';

export const OperatorCondition = {
  AVAILABLE: 'Available',
  PROGRESSING: 'Progressing',
  DEGRADED: 'Degraded',
  UPGRADEABLE: 'Upgradeable',
} as const;
export type OperatorCondition = (typeof OperatorCondition)[keyof typeof OperatorCondition];

export interface NamedVersion {
  readonly name: string;
  readonly version: string;
}

/** One of the processes that run in the cluster. */
export interface Component {
  /** `cluster-worker` */
  readonly name: string;
  readonly replicas: number;
  readonly ready: number;
  /** In the order of their names; more than one while it is replaced. */
  readonly images: readonly string[];
  /** RFC 3339: since when no replica is ready. */
  readonly downSince?: string;
}

/** As each last reported. */
export interface HostWorkers {
  readonly reported: number;
  readonly neverReported: number;
  /** The most frequent first. */
  readonly versions: readonly { readonly version: string; readonly hosts: number }[];
}

export interface RelatedObject {
  readonly group: string;
  readonly resource: string;
  /** Empty = all of them. */
  readonly name: string;
}

export interface OperatorStatus {
  /** The most important of the conditions, in a sentence. */
  readonly message: string;
  /** RFC 3339: when a condition last changed. */
  readonly since: string;
  readonly conditions: readonly Condition[];
  /** `operator` is the version that has been reached. */
  readonly versions: readonly NamedVersion[];
  readonly components: readonly Component[];
  readonly hostWorkers: HostWorkers;
  /** A line for each pool, by its name. */
  readonly pools: Readonly<Record<string, string>>;
  readonly relatedObjects: readonly RelatedObject[];
}

export interface Slipway {
  readonly metadata: ObjectMeta;
  readonly status?: OperatorStatus;
}

/** OpenShift's kind (openshift/api, config/v1): the fields that Slipway writes. */
export interface ClusterOperatorStatus {
  readonly conditions: readonly Condition[];
  readonly versions: readonly NamedVersion[];
  readonly relatedObjects: readonly RelatedObject[];
  readonly extension: Readonly<Record<string, string>>;
}

export interface ClusterOperator {
  readonly metadata: ObjectMeta;
  readonly status?: Partial<ClusterOperatorStatus>;
}
