/** PoolRollout: who of a pool may be out of service, and how far its rollout is. One object per pool. */

import type { Condition, ObjectMeta } from '../object-meta';
import { cut } from '../encoding/one-line';
import type { NamedReason, RolloutState } from './progress';

/** The permission of one update to take its node out of service. */
export interface Grant {
  readonly node: string;
  /** Of the Node: a later one of the same name has no part in it. */
  readonly uid: string;
  /** Run ID of the update that has it. */
  readonly run: string;
  /** RFC 3339: when the server started that run. */
  readonly startedAt: string;
  readonly config: string;
  /** RFC 3339. */
  readonly grantedAt: string;
  /** The update takes nothing out of service, so it does not count against `maxUnavailable`. */
  readonly serves?: true;
}

export interface RolloutCounts {
  readonly machines: number;
  readonly updated: number;
  /** With a grant that counts, or out of service by themselves. */
  readonly outOfService: number;
  readonly mayBeOut: number;
  /** Prepared, without a grant. */
  readonly waiting: number;
  readonly failed: number;
  readonly held: number;
  readonly blocked: number;
  /** Absent = none. */
  readonly simulated?: number;
}

export interface PoolRolloutStatus {
  /** The rendered config of the pool; absent = none is rendered. */
  readonly config?: string;
  /** RFC 3339: when the rollout of this config began. */
  readonly startedAt?: string;
  readonly state: RolloutState;
  /** What the rollout waits for. */
  readonly blocker?: string;
  /** `updated/machines`, for a column of `kubectl get`. */
  readonly done: string;
  readonly counts: RolloutCounts;
  readonly failed: readonly NamedReason[];
  readonly held: readonly NamedReason[];
  /** In the order in which they were given. */
  readonly grants: readonly Grant[];
  readonly conditions?: readonly Condition[];
}

export interface PoolRollout {
  readonly metadata: ObjectMeta;
  readonly status?: PoolRolloutStatus;
}

/** A larger `maxUnavailable` counts as this: a grant takes about 280 bytes, so the object stays far under what etcd takes. */
export const GRANTS_AT_MOST = 1000;
/** Names in a list; the counts are whole. */
const LISTED = 50;
const REASON_AT_MOST = 200;

/** Cuts a list of reasons to what one object may hold. */
export function listed(reasons: readonly NamedReason[]): readonly NamedReason[] {
  return reasons
    .slice(0, LISTED)
    .map(({ node, reason }) => ({ node, reason: cut(reason, REASON_AT_MOST) }));
}
