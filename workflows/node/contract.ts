/** What an update of a node is started with. Everything is plain JSON. */

import { defineQuery } from '@temporalio/workflow';
import type { NodePhase } from '../../core/node/lifecycle';
import type { NodeDisruptionPolicy } from '../../core/disruption/types';
import type { ResolvedPolicy } from '../../core/pool/types';
import type { ConfigReference } from '../host-contracts';

/**
 * `whole`: nothing is half done. `left`: an earlier update has left the node out of service, and has said why. `lost`:
 * an earlier update has begun, and nobody has heard how it ended.
 */
export type FoundNode = 'whole' | 'left' | 'lost';

export type UpdateOutcome = 'updated' | 'failed' | 'cancelled';

/** What `updateNode` returns. */
export interface NodeResult {
  readonly node: string;
  readonly config: string;
  readonly outcome: UpdateOutcome;
  /** Seconds per phase that ran, in order. */
  readonly phases: readonly { readonly phase: NodePhase; readonly seconds: number }[];
}

/** What `updateNode` answers to `status`. */
export interface NodeStatus {
  readonly node: string;
  readonly pool: string;
  readonly config: string;
  readonly phase: NodePhase;
  /** RFC 3339. */
  readonly since: string;
  /** What the update does, once planned. */
  readonly summary?: string;
  /** What it waits for. */
  readonly blocker?: string;
  readonly pastPointOfNoReturn: boolean;
}

export const statusQuery = defineQuery<NodeStatus>('status');

/** Input of `updateNode`. A step of the rollout starts it. */
export interface NodeUpdateInput {
  readonly node: string;
  /** Of the Node: a later one of the same name is another node. */
  readonly uid: string;
  readonly pool: string;
  readonly config: ConfigReference;
  /** Absent = none was ever verified, or it is gone. */
  readonly currentConfig?: ConfigReference;
  readonly policy: ResolvedPolicy;
  readonly disruptionPolicies: NodeDisruptionPolicy;
  readonly found: FoundNode;
  /** The node goes back to what it was on: neither a person's hold nor another config ends it. */
  readonly takesBack?: true;
}

/** Kept with the workflow, so that a list of open updates shows it. */
export interface NodeUpdateMemo {
  readonly uid: string;
  readonly takesBack?: true;
}
