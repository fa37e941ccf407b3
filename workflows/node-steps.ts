/** The steps of a node update: one function per activity, with the sentence that the UI shows. */

import {
  ActivityCancellationType,
  CancellationScope,
  isCancellation,
  log,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import { CLUSTER_QUEUE, hostQueue } from '../core/names';
import type { UpdatePlan } from '../core/node/plan';
import type {
  ClusterActivities,
  HostActivities,
  HostOrder,
  NodeStep,
  ReleaseNodeInput,
  ReportedPhase,
} from './activity-contracts';
import type { UpdateNodeInput } from './messages';
import { CLOCK_SKEW_SECONDS, clusterLimits, hostLimits, optionsFor } from './timeouts';

export type HostSteps = ReturnType<typeof hostSteps>;
export type ClusterSteps = ReturnType<typeof clusterSteps>;

/** What the host of this node is asked to do. Every order carries its own ID and expiry. */
export function hostSteps(input: UpdateNodeInput) {
  const { node } = input;
  const config = input.config.name;
  const limits = hostLimits(input.policy);
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
        [order('applyUpdate')],
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
        [{ ...order('verifyUpdate'), ...after(rebootedFrom) }],
      ),
    commit: () =>
      host.commitUpdate.executeWithOptions(
        options('commitUpdate', `make ${config} the current config of ${node}`),
        [order('commitUpdate')],
      ),
    goBack: () =>
      host.goBack.executeWithOptions(options('goBack', `take ${node} back to its old config`), [
        order('goBack'),
      ]),
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
  };
}

function orderFor(input: UpdateNodeInput, step: string, totalSeconds: number): HostOrder {
  const { workflowId, runId } = workflowInfo();
  const expires = Date.now() + (totalSeconds + CLOCK_SKEW_SECONDS) * 1000;
  return {
    orderId: `${workflowId}/${runId}/${step}`,
    node: input.node,
    config: input.config,
    ...(input.currentConfig === undefined ? {} : { currentConfig: input.currentConfig }),
    disruptionPolicies: input.disruptionPolicies,
    notAfter: new Date(expires).toISOString(),
  };
}

/** What is done with the node in the cluster. */
export function clusterSteps(input: UpdateNodeInput) {
  const { node, policy } = input;
  const config = input.config.name;
  const limits = clusterLimits(policy);
  const cluster = proxyActivities<ClusterActivities>({
    taskQueue: CLUSTER_QUEUE,
    startToCloseTimeout: '1m',
  });
  const step: NodeStep = {
    node,
    pool: input.pool,
    config,
    workflowId: workflowInfo().workflowId,
  };
  // Apart from the workflow's own cancellation: going back is shown, too.
  const shown = new CancellationScope({
    cancellable: true,
    parent: new CancellationScope({ cancellable: false }),
  });

  return {
    cordon: (plan: UpdatePlan, repair: boolean) =>
      cluster.cordonNode.executeWithOptions(
        optionsFor(limits.cordonNode, `${plan.drain ? 'cordon' : 'target'} ${node}`),
        [{ ...step, cordon: plan.drain, repair, summary: plan.summary }],
      ),
    drain: () =>
      cluster.drainNode.executeWithOptions(optionsFor(limits.drainNode, `drain ${node}`), [
        { ...step, drain: policy.drain, startedAt: new Date(Date.now()).toISOString() },
      ]),
    awaitReady: (bootId: string | undefined, readySeconds: number) =>
      cluster.awaitNodeReady.executeWithOptions(
        optionsFor(
          limits.awaitNodeReady,
          readySeconds > 0 ? `${node} is Ready for ${readySeconds} s` : `${node} is Ready`,
        ),
        [
          {
            ...step,
            ...(bootId === undefined ? {} : { bootId }),
            readySeconds,
            timeoutSeconds: readySeconds + policy.reconnectSeconds,
          },
        ],
      ),
    complete: () =>
      cluster.completeNode.executeWithOptions(
        optionsFor(limits.completeNode, `${node} is done: set currentConfig, uncordon`),
        [step],
      ),
    release: (how: Omit<ReleaseNodeInput, keyof NodeStep>) =>
      cluster.releaseNode.executeWithOptions(
        optionsFor(
          limits.releaseNode,
          how.hostIsBack ? `give ${node} back` : `leave ${node} as it is, with the reason`,
        ),
        [{ ...step, ...how }],
      ),
    /**
     * Shows a phase on the MachineConfigNode while the host works: never waited for, and its
     * failure is only logged. `hideShown` ends what is still under way, so that an old phase is
     * never written over the end of the update.
     */
    show: (phase: ReportedPhase, message: string): void => {
      shown
        .run(() =>
          cluster.reportNodePhase.executeWithOptions(
            {
              ...optionsFor(limits.reportNodePhase, `show ${phase} on ${node}`),
              cancellationType: ActivityCancellationType.TRY_CANCEL,
            },
            [{ ...step, phase, message }],
          ),
        )
        .catch((error: unknown) => {
          if (!isCancellation(error)) log.warn(`phase ${phase} is not shown`, { node, error });
        });
    },
    hideShown: (): void => shown.cancel(),
  };
}
