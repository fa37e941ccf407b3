/** The steps that the host of a node is asked to do, each with the sentence that the UI shows. */

import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import { hostQueue } from '../../core/names';
import { poolToLeave } from '../contracts/failures';
import type { Handed, HandedActivities, HostOrder, HostStep } from '../contracts/host';
import {
  CLOCK_SKEW_SECONDS,
  commitWithinSeconds,
  hostLimits,
  optionsFor,
} from '../contracts/timeouts';
import type { NodeUpdateInput } from '../contracts/update';

export type HostSteps = ReturnType<typeof hostSteps>;

/** What the host of this node is asked to do. Every order carries its own ID and expiry. */
export function hostSteps(input: NodeUpdateInput) {
  const { node } = input;
  const config = input.config.name;
  const limits = hostLimits(input.policy);
  const committing = { commitWithinSeconds: commitWithinSeconds(input.policy) };
  const host = proxyActivities<HandedActivities>({
    taskQueue: hostQueue(node),
    startToCloseTimeout: '1m',
  });
  const options = (step: HostStep, summary: string) => optionsFor(limits[step], summary);
  /** @param times - of those that are ordered more than once, each under an ID of its own */
  const order = (step: HostStep, times = '', totalSeconds = limits[step].total): HostOrder => ({
    ...{ ...orderFor(input, totalSeconds), step },
    orderId: orderIdOf(`${step}${times}`),
  });
  const prepare = (movedFrom?: string) =>
    host.prepareUpdate.executeWithOptions(
      options('prepareUpdate', `fetch ${config} on ${node}, check it, plan it, stage it`),
      [
        handed(
          movedFrom === undefined
            ? order('prepareUpdate')
            : { ...order('prepareUpdate', '-moved'), movedFrom },
        ),
      ],
    );
  const after = (rebootedFrom?: string) => (rebootedFrom === undefined ? {} : { rebootedFrom });

  return {
    /** A host that was in another pool says so, and hears that it has moved. */
    prepare: () =>
      prepare().catch((error: unknown) => {
        const pool = poolToLeave(error);
        if (pool === undefined) throw error;
        return prepare(pool);
      }),
    apply: () =>
      host.applyUpdate.executeWithOptions(
        options('applyUpdate', `write files, units and kernel arguments of ${config} to ${node}`),
        [handed({ ...order('applyUpdate'), reconnectSeconds: input.policy.reconnectSeconds })],
      ),
    performServiceActions: () =>
      host.performServiceActions.executeWithOptions(
        options('performServiceActions', `reload or restart services on ${node}`),
        [handed(order('performServiceActions'))],
      ),
    armReboot: () =>
      host.armReboot.executeWithOptions(options('armReboot', `reboot ${node} into ${config}`), [
        handed({ ...order('armReboot'), reconnectSeconds: input.policy.reconnectSeconds }),
      ]),
    verify: (rebootedFrom?: string) =>
      host.verifyUpdate.executeWithOptions(
        options(
          'verifyUpdate',
          rebootedFrom === undefined
            ? `check that ${node} is on ${config}`
            : `wait until ${node} is back from its reboot, check that it is on ${config}`,
        ),
        [handed({ ...order('verifyUpdate'), ...after(rebootedFrom), ...committing })],
      ),
    /**
     * Of a host that has not answered: it may be on its way back by itself, so it has the time of `verifyBack`.
     *
     * @param times - how often it was asked for this; each is an order of its own, since what was answered is true no more
     */
    verifyAgain: (times: number) =>
      host.verifyUpdate.executeWithOptions(
        options('verifyBack', `check that ${node} is still on ${config}`),
        [
          handed({
            ...order('verifyUpdate', `-${times}`, limits.verifyBack.total),
            ...committing,
          }),
        ],
      ),
    commit: () =>
      host.commitUpdate.executeWithOptions(
        options('commitUpdate', `make ${config} the current config of ${node}`),
        [handed(order('commitUpdate'))],
      ),
    /** @param failed - why, when the update has failed */
    goBack: (failed?: string) =>
      host.goBack.executeWithOptions(options('goBack', `take ${node} back to its old config`), [
        handed({ ...order('goBack'), ...(failed === undefined ? {} : { failed }) }),
      ]),
    /** Before that: a commit was ordered, and its answer may be lost. */
    hasCommitted: () =>
      host.goBack.executeWithOptions(
        options('goBack', `hear whether ${node} has committed ${config}`),
        [handed({ ...order('goBack', '-asked'), onlyAsks: true })],
      ),
    verifyBack: (rebootedFrom?: string) =>
      host.verifyBack.executeWithOptions(
        options('verifyBack', `check that ${node} is on its old config again`),
        [handed({ ...order('verifyBack'), ...after(rebootedFrom) })],
      ),
    discardStaged: () =>
      host.discardStaged.executeWithOptions(
        options('discardStaged', `drop what was staged on ${node}`),
        [handed(order('discardStaged'))],
      ),
    /** The same, with what was taken over: it is on the disk, so this is waited for like a way back. */
    undoTakenOver: () =>
      host.discardStaged.executeWithOptions(
        options('goBack', `undo on ${node} what an earlier update had written`),
        [handed(order('discardStaged', '', limits.goBack.total))],
      ),
  };
}

/** The codec of the cluster worker signs it (`workers/cluster/orders`), but not again when the workflow is replayed. */
function handed<Order extends HostOrder>(order: Order): Handed<Order> {
  return { order, ...(workflowInfo().unsafe.isReplaying ? { isReplayed: true } : {}) };
}

function orderIdOf(step: string): string {
  const { workflowId, runId } = workflowInfo();
  return `${workflowId}/${runId}/${step}`;
}

function orderFor(
  input: NodeUpdateInput,
  totalSeconds: number,
): Omit<HostOrder, 'step' | 'orderId'> {
  const now = Date.now();
  const { pool: name, poolUid: uid, poolGeneration: generation } = input;
  return {
    node: input.node,
    pool: { name, uid, generation },
    config: input.config,
    ...(input.takesBack === undefined ? {} : { takesBack: input.takesBack }),
    ...(input.currentConfig === undefined ? {} : { currentConfig: input.currentConfig }),
    disruptionPolicies: input.disruptionPolicies,
    issuedAt: new Date(now).toISOString(),
    notAfter: new Date(now + (totalSeconds + CLOCK_SKEW_SECONDS) * 1000).toISOString(),
    ...(input.found === 'lost' ? { afterLost: true as const } : {}),
  };
}
