/** What an update of a node is started with, answers, and returns. Everything is plain JSON. */

import { defineQuery } from '@temporalio/workflow';

import type { NodeDisruptionPolicy } from '../../core/disruption/types';
import type { NodePhase } from '../../core/node/lifecycle';
import type { FoundNode } from '../../core/node/update-states';
import type { ResolvedPolicy } from '../../core/pool/types';
import type { ConfigReference } from './host';

/** Input of `updateNode`. A step of the rollout starts it. */
export interface NodeUpdateInput {
  readonly node: string;
  /** Of the Node: a later one of the same name is another node. */
  readonly uid: string;
  readonly pool: string;
  /** Of the pool, as the step saw it. */
  readonly poolUid: string;
  /** Of the pool, as the step saw it. */
  readonly poolGeneration: number;
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

export type UpdateOutcome = 'updated' | 'failed' | 'cancelled';

/** How an update ended. */
export interface NodeReport {
  readonly node: string;
  readonly config: string;
  readonly outcome: UpdateOutcome;
  /** Phase in which it failed or was cancelled. */
  readonly phase?: NodePhase;
  readonly reason?: string;
  /** Catalogue name of the first cause. */
  readonly failure?: string;
  /** Seconds per phase that ran, in order. */
  readonly phases: readonly { readonly phase: NodePhase; readonly seconds: number }[];
  readonly startedAt: string;
  readonly finishedAt: string;
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
