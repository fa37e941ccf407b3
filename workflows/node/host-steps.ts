/** The steps that the host of a node is asked to do, each with the sentence that the UI shows. */

import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import { hostQueue } from '../../core/names';
import type { HostActivities, HostOrder } from '../contracts/host';
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
  const host = proxyActivities<HostActivities>({
    taskQueue: hostQueue(node),
    startToCloseTimeout: '1m',
  });
  const options = (step: keyof HostActivities, summary: string) =>
    optionsFor(limits[step], summary);
  const order = (step: keyof HostActivities): HostOrder =>
    orderFor(input, step, limits[step].total);
  const after = (rebootedFrom?: string) => (rebootedFrom === undefined ? {} : { rebootedFrom });

  return {
    prepare: () =>
      host.prepareUpdate.executeWithOptions(
        options('prepareUpdate', `fetch ${config} on ${node}, check it, plan it, stage it`),
        [order('prepareUpdate')],
      ),
    apply: () =>
      host.applyUpdate.executeWithOptions(
        options('applyUpdate', `write files, units and kernel arguments of ${config} to ${node}`),
        [{ ...order('applyUpdate'), reconnectSeconds: input.policy.reconnectSeconds }],
      ),
    performServiceActions: () =>
      host.performServiceActions.executeWithOptions(
        options('performServiceActions', `reload or restart services on ${node}`),
        [order('performServiceActions')],
      ),
    armReboot: () =>
      host.armReboot.executeWithOptions(options('armReboot', `reboot ${node} into ${config}`), [
        { ...order('armReboot'), reconnectSeconds: input.policy.reconnectSeconds },
      ]),
    verify: (rebootedFrom?: string) =>
      host.verifyUpdate.executeWithOptions(
        options(
          'verifyUpdate',
          rebootedFrom === undefined
            ? `check that ${node} is on ${config}`
            : `wait until ${node} is back from its reboot, check that it is on ${config}`,
        ),
        [{ ...order('verifyUpdate'), ...after(rebootedFrom), ...committing }],
      ),
    /**
     * Of a host that has not answered: it may be on its way back by itself, so it has the time of `verifyBack`.
     *
     * @param times - how often it was asked for this; each is an order of its own, since what was answered is true no more
     */
    verifyAgain: (times: number) =>
      host.verifyUpdate.executeWithOptions(
        options('verifyBack', `check that ${node} is still on ${config}`),
        [{ ...orderFor(input, `verifyUpdate-${times}`, limits.verifyBack.total), ...committing }],
      ),
    commit: () =>
      host.commitUpdate.executeWithOptions(
        options('commitUpdate', `make ${config} the current config of ${node}`),
        [order('commitUpdate')],
      ),
    /** @param failed - why, when the update has failed */
    goBack: (failed?: string) =>
      host.goBack.executeWithOptions(options('goBack', `take ${node} back to its old config`), [
        { ...order('goBack'), ...(failed === undefined ? {} : { failed }) },
      ]),
    /** Before that: a commit was ordered, and its answer may be lost. */
    hasCommitted: () =>
      host.goBack.executeWithOptions(
        options('goBack', `hear whether ${node} has committed ${config}`),
        [{ ...orderFor(input, 'goBack-asked', limits.goBack.total), onlyAsks: true }],
      ),
    verifyBack: (rebootedFrom?: string) =>
      host.verifyBack.executeWithOptions(
        options('verifyBack', `check that ${node} is on its old config again`),
        [{ ...order('verifyBack'), ...after(rebootedFrom) }],
      ),
    discardStaged: () =>
      host.discardStaged.executeWithOptions(
        options('discardStaged', `drop what was staged on ${node}`),
        [order('discardStaged')],
      ),
    /** The same, with what was taken over: it is on the disk, so this is waited for like a way back. */
    undoTakenOver: () =>
      host.discardStaged.executeWithOptions(
        options('goBack', `undo on ${node} what an earlier update had written`),
        [orderFor(input, 'discardStaged', limits.goBack.total)],
      ),
  };
}

function orderFor(input: NodeUpdateInput, step: string, totalSeconds: number): HostOrder {
  const { workflowId, runId } = workflowInfo();
  const expires = Date.now() + (totalSeconds + CLOCK_SKEW_SECONDS) * 1000;
  return {
    orderId: `${workflowId}/${runId}/${step}`,
    node: input.node,
    config: input.config,
    ...(input.currentConfig === undefined ? {} : { currentConfig: input.currentConfig }),
    disruptionPolicies: input.disruptionPolicies,
    notAfter: new Date(expires).toISOString(),
    ...(input.found === 'lost' ? { afterLost: true as const } : {}),
  };
}
