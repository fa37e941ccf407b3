/** One node update under way: its bookkeeping, its steps, and how far it disturbed the node. */

import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import { updateNodeId } from '../core/names';
import type { UpdatePlan } from '../core/node/plan-types';
import { refuse } from './contracts/failures';
import type { UpdateNodeInput } from './messages';
import { NodeLife } from './node-life';
import { NodeProgress } from './node-progress';
import { answerMessages } from './node-slot';
import { clusterSteps, hostSteps, type ClusterSteps, type HostSteps } from './node-steps';

export interface NodeUpdate {
  readonly input: UpdateNodeInput;
  readonly progress: NodeProgress;
  readonly life: NodeLife;
  readonly host: HostSteps;
  readonly cluster: ClusterSteps;
  /** The host was asked to prepare, and has not answered. */
  preparing: boolean;
  /** The host has answered, and no reboot is due because of an earlier update. */
  settled: boolean;
  /** The host has what an earlier update to this config wrote, and nothing that disturbs it undoes it. */
  tookOver: boolean;
  /** The host was asked on the way back to drop what it has. */
  discarded: boolean;
  /** Name of the config that the host says it is on, or that its Node names because this update verified it. */
  hostIsOn: string | undefined;
  /** The Node may have been written. */
  touched: boolean;
  /** Something on the host may have changed. */
  applied: boolean;
  /** The host was told to commit, so it may be on its config for good; an order to go back asks. */
  commitOrdered: boolean;
  /** The host is on the new config for good; there is nothing to take back any more. */
  verified: boolean;
}

/** Answers messages from here on, so call it before the first wait. */
export function beginUpdate(input: UpdateNodeInput): NodeUpdate {
  const progress = new NodeProgress(input);
  answerMessages(input, progress);
  return {
    input,
    progress,
    life: new NodeLife(),
    host: hostSteps(input),
    cluster: clusterSteps(input),
    preparing: false,
    settled: false,
    tookOver: false,
    discarded: false,
    hostIsOn: undefined,
    touched: false,
    applied: false,
    commitOrdered: false,
    verified: false,
  };
}

/** Refuses an update that a person started by hand: the Temporal UI lets one. */
export function refuseForeignStart(input: Partial<UpdateNodeInput> | undefined): void {
  const { workflowId } = workflowInfo();
  const { node, pool, config, policy, disruptionPolicies, reportTo } = input ?? {};
  if (!node || !pool || !config || !policy || !disruptionPolicies || !reportTo) {
    throw refuse(
      'RefusedRequest',
      'node updates are started by the rollout of their pool, which knows node, config and policy; ' +
        'use the update retryNode of pool-rollout/<pool>',
    );
  }
  const right = updateNodeId(node);
  if (workflowId !== right) {
    throw refuse(
      'WrongWorkflowId',
      `the update of node ${node} runs as ${right}, not as ${workflowId}; ` +
        `use the update retryNode of ${reportTo}`,
    );
  }
}

/** @throws `Unreconcilable` with the reason of the plan */
export function refuseUnreconcilable(plan: UpdatePlan): void {
  if (!plan.reconcilable.ok) throw refuse('Unreconcilable', plan.reconcilable.reason);
}

/** Work that a cancellation of the workflow does not reach. */
export function shielded<T>(work: () => Promise<T>): Promise<T> {
  return CancellationScope.nonCancellable(work);
}
