/** What a rollout hears, what it asks of its activities, and what it answers. Everything is plain JSON. */

import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { RolloutEnd, RolloutState } from '../../core/rollout/index';

/** Kinds of objects that a step waits for, until it sees what others have seen. */
export const SEEN_KINDS = ['nodes', 'pools', 'policies', 'machineConfigNodes'] as const;

/** Versions that a picture must show at least. */
export type SeenVersions = { readonly [Kind in (typeof SEEN_KINDS)[number]]?: number };

export interface StepInput {
  readonly pool: string;
  /** An older picture would show things undone that were seen. */
  readonly atLeast?: SeenVersions;
  /** A person has cancelled the rollout, whatever config its pool has by now. */
  readonly isCancelled?: true;
}

/** At most 1 KiB: the history keeps it once per step. */
export interface StepResult {
  readonly config?: string;
  readonly state: RolloutState;
  readonly blocker?: string;
  /** `12 of 200`. */
  readonly updated: string;
  /** The first of the nodes that got a grant, and how many. */
  readonly granted: readonly string[];
  readonly grantedCount: number;
  /** Absent = the rollout goes on. */
  readonly ended?: RolloutEnd | 'pool deleted';
  readonly lookAgainSeconds: number;
  readonly versions: SeenVersions;
}

/** What a person says. It is written on the pool or on a Node, where it outlives every process. */
export type Word = { /** Who, when known. */ readonly by?: string } & (
  | { readonly kind: 'start' | 'cancel'; readonly reason?: string }
  | { readonly kind: 'pause' | 'resume'; readonly reason: string }
  | { readonly kind: 'retryNode'; readonly node: string; readonly reason?: string }
  | { readonly kind: 'skipNode' | 'cancelNode'; readonly node: string; readonly reason: string }
);

export interface RolloutActivities {
  /** Looks, decides, writes the PoolRollout and acts. */
  step(input: StepInput): Promise<StepResult>;
  /**
   * Refuses nonsense with `RefusedRequest` and a sentence: to resume a pool that is not paused, to retry a node that
   * has not failed.
   *
   * @returns what a picture has to show
   */
  writeWord(input: { readonly pool: string; readonly word: Word }): Promise<SeenVersions>;
}

export interface PoolRolloutInput {
  readonly pool: string;
  /** Started by news and not by a person: a rollout that a person cancelled, or has to start, does not begin. */
  readonly isWoken?: true;
  /** It goes on from an earlier run; never set by a person. */
  readonly goesOn?: { readonly atLeast: SeenVersions };
}

/** A reason for the record; `by` names the person when known. */
export interface Reason {
  readonly reason?: string;
  readonly by?: string;
}

export interface NodeRequest extends Reason {
  readonly node: string;
}

export const wakeSignal = defineSignal<[{ readonly atLeast?: SeenVersions }]>('wake');
export const progressQuery = defineQuery<StepResult | undefined>('progress');
export const startUpdate = defineUpdate<StepResult, [Reason]>('start');
export const pauseUpdate = defineUpdate<StepResult, [Reason]>('pause');
export const resumeUpdate = defineUpdate<StepResult, [Reason]>('resume');
export const retryNodeUpdate = defineUpdate<StepResult, [NodeRequest]>('retryNode');
export const skipNodeUpdate = defineUpdate<StepResult, [NodeRequest]>('skipNode');
export const cancelNodeUpdate = defineUpdate<StepResult, [NodeRequest]>('cancelNode');
