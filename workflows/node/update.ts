/** One node update under way: its bookkeeping, its steps, and how far it disturbed the node. */

import { workflowInfo } from '@temporalio/workflow';
import { updateNodeId } from '../../core/names';
import type { UpdatePlan } from '../../core/node/plan-types';
import { refuse } from '../contracts/failures';
import type { NodeUpdateInput } from '../contracts/update';
import { NodeLife } from './life';
import { NodeProgress } from './progress';
import { clusterSteps, hostSteps, type ClusterSteps, type HostSteps } from './steps';

export interface NodeUpdate {
  readonly input: NodeUpdateInput;
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
  /** The node is cordoned, or targeted. */
  takenOut: boolean;
  /** Something on the host may have changed. */
  applied: boolean;
  /** The host was told to commit, so it may be on its config for good; an order to go back asks. */
  commitOrdered: boolean;
  /** The host is on the new config for good; there is nothing to take back any more. */
  verified: boolean;
}

/** Answers messages from here on, so call it before the first wait. */
export function beginUpdate(input: NodeUpdateInput): NodeUpdate {
  return {
    input,
    progress: new NodeProgress(input),
    life: new NodeLife(),
    host: hostSteps(input),
    cluster: clusterSteps(input),
    preparing: false,
    settled: false,
    tookOver: false,
    discarded: false,
    hostIsOn: undefined,
    takenOut: false,
    applied: false,
    commitOrdered: false,
    verified: false,
  };
}

/** Refuses an update that a person started by hand: the Temporal UI lets one. */
export function refuseForeignStart(input: Partial<NodeUpdateInput> | undefined): void {
  const { workflowId } = workflowInfo();
  const { node, uid, pool, config, policy, disruptionPolicies, found } = input ?? {};
  if (!node || !uid || !pool || !config || !policy || !disruptionPolicies || !found) {
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
        `use the update retryNode of pool-rollout/${pool}`,
    );
  }
}

/** @throws `Unreconcilable` with the reason of the plan */
export function refuseUnreconcilable(plan: UpdatePlan): void {
  if (!plan.reconcilable.ok) throw refuse('Unreconcilable', plan.reconcilable.reason);
}
