/** The steps of a node update: one function per activity, with the sentence that the UI shows. */

import {
  CancelledFailure,
  CancellationScope,
  isCancellation,
  log,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import { CLUSTER_QUEUE, hostQueue } from '../../core/names';
import type { UpdatePlan } from '../../core/node/plan-types';
import { servesThroughout } from '../../core/node/serves';
import type {
  AwaitReturnInput,
  CancelReason,
  ClusterActivities,
  DrainNodeInput,
  NodeStep,
  ReleaseNodeInput,
  TakeOutInput,
} from '../contracts/cluster';
import type { HostActivities, HostOrder } from '../contracts/host';
import type { NodeUpdateInput } from '../contracts/update';
import { PRIORITY } from '../contracts/priorities';
import {
  brief,
  CLOCK_SKEW_SECONDS,
  clusterLimits,
  commitWithinSeconds,
  hostLimits,
  type Limits,
  optionsFor,
  SHOWN,
  verifyAgainLimits,
} from '../contracts/timeouts';

export type HostSteps = ReturnType<typeof hostSteps>;
export type ClusterSteps = ReturnType<typeof clusterSteps>;

/** What the host of this node is asked to do. Every order carries its own ID and expiry. */
export function hostSteps(input: NodeUpdateInput) {
  const { node } = input;
  const config = input.config.name;
  const limits = hostLimits(input.policy);
  const again = verifyAgainLimits(input.policy);
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
     * Of a host that has not answered: it may be on its way back by itself.
     *
     * @param times - how often it was asked for this; each is an order of its own, since what was answered is true no more
     */
    verifyAgain: (times: number) =>
      host.verifyUpdate.executeWithOptions(
        optionsFor(again, `check that ${node} is still on ${config}`),
        [{ ...orderFor(input, `verifyUpdate-${times}`, again.total), ...committing }],
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

/** The server's start time orders the runs of a node, whoever asks. */
function thisRun(): Pick<NodeStep, 'workflowId' | 'run'> {
  const { workflowId, runId, runStartTime } = workflowInfo();
  return { workflowId, run: { id: runId, startedAt: runStartTime.toISOString() } };
}

const shownOnly = proxyLocalActivities<ClusterActivities>(SHOWN);

/** What is done with the node in the cluster. */
export function clusterSteps(input: NodeUpdateInput) {
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
    uid: input.uid,
    ...thisRun(),
    ...(input.takesBack === undefined ? {} : { takesBack: input.takesBack }),
  };
  // Apart from the workflow's own cancellation: going back is shown, too.
  const shown = new CancellationScope({
    cancellable: true,
    parent: new CancellationScope({ cancellable: false }),
  });

  const drain = ({ summary }: UpdatePlan, how: Pick<DrainNodeInput, 'isGoingBack'>) => {
    const startedAt = new Date(Date.now()).toISOString();
    return toItsEnd(optionsFor(limits.drainNode, `drain ${node}`), (options) =>
      cluster.drainNode.executeWithOptions(options, [
        { ...step, ...how, summary, drain: policy.drain, startedAt },
      ]),
    );
  };

  type Awaited = Pick<AwaitReturnInput, 'bootId' | 'rebootedFrom' | 'summary' | 'readySeconds'>;
  const awaitReturn = (awaited: Awaited) => {
    const { readySeconds, rebootedFrom } = awaited;
    const isReady = `${node} is Ready`;
    const summary = readySeconds > 0 ? `${isReady} for ${readySeconds} s` : isReady;
    const reboot = rebootedFrom === undefined ? 0 : policy.rebootTimeoutSeconds;
    const timeoutSeconds = reboot + readySeconds + policy.reconnectSeconds;
    return cluster.awaitReturn.executeWithOptions(first(limits.awaitReturn, summary), [
      { ...step, ...awaited, timeoutSeconds },
    ]);
  };

  return {
    takeOut: (plan: UpdatePlan) => {
      const summary = `wait for a grant, then ${plan.drain ? 'cordon' : 'target'} ${node}`;
      const order: TakeOutInput = {
        ...{ ...step, cordon: plan.drain, summary: plan.summary },
        ...(servesThroughout(plan) ? { serves: true } : {}),
        ...(plan.drain ? { drain: policy.drain } : {}),
      };
      return toItsEnd(optionsFor(limits.takeOutOfService, summary), (options) =>
        cluster.takeOutOfService.executeWithOptions(options, [order]),
      );
    },
    checkCordonBack: ({ summary }: UpdatePlan) =>
      cluster.checkCordon.executeWithOptions(
        optionsFor(limits.checkCordon, `nothing runs on ${node} that its way back would end`),
        [{ ...step, summary, isGoingBack: true, drain: policy.drain }],
      ),
    /** Of a node that was uncordoned in the middle. It counts as out of service all the time, so it needs no room. */
    cordonAgain: (plan: UpdatePlan) =>
      toItsEnd(optionsFor(limits.cordonAgain, `cordon ${node} once more`), (options) =>
        cluster.cordonAgain.executeWithOptions(options, [
          { ...step, cordon: true, isGoingBack: true, summary: plan.summary, drain: policy.drain },
        ]),
      ),
    drain: (plan: UpdatePlan) => drain(plan, {}),
    drainAgain: (plan: UpdatePlan) => drain(plan, { isGoingBack: true }),
    checkCordon: ({ summary }: UpdatePlan) =>
      cluster.checkCordon.executeWithOptions(
        optionsFor(limits.checkCordon, `${node} is still cordoned and drained`),
        [{ ...step, summary, drain: policy.drain }],
      ),
    /** Of a machine that reboots: from its last boot on. */
    awaitReturn: (plan: UpdatePlan, rebootedFrom: string) =>
      awaitReturn({ rebootedFrom, summary: plan.summary, readySeconds: policy.readySeconds }),
    /** @param bootId - absent = in any boot */
    awaitReady: (bootId: string | undefined, readySeconds: number) =>
      awaitReturn({ ...(bootId === undefined ? {} : { bootId }), readySeconds }),
    complete: () =>
      cluster.completeNode.executeWithOptions(
        first(limits.completeNode, `${node} is done: set currentConfig, uncordon`),
        [step],
      ),
    release: (how: Omit<ReleaseNodeInput, keyof NodeStep>) =>
      cluster.releaseNode.executeWithOptions(
        first(
          limits.releaseNode,
          how.hostIsBack ? `give ${node} back` : `leave ${node} as it is, with the reason`,
        ),
        [{ ...step, ...how }],
      ),
    /** Of an update that is cancelled. Given up soon: a person waits for the end of it. */
    whyCancelled: (): Promise<CancelReason> =>
      cluster.whyCancelled
        .executeWithOptions(optionsFor(limits.whyCancelled, 'why is the update cancelled?'), [step])
        .catch((error: unknown) => {
          log.warn('it is not known why the update is cancelled', { node, error });
          return { reason: 'the update was cancelled' };
        }),
    /**
     * Shows it on the MachineConfigNode while the host works: never waited for, and its failure is only logged.
     * `hideShown` ends what is still under way, so that it is never written over the end of the update.
     */
    showGoingBack: (why: string): void => {
      const summary = brief(`show GoingBack on ${node}`);
      shown
        .run(() =>
          shownOnly.showGoingBack.executeWithOptions({ ...SHOWN, summary }, [
            { ...step, summary: why },
          ]),
        )
        .catch((error: unknown) => {
          if (!isCancellation(error)) log.warn('GoingBack is not shown', { node, error });
        });
    },
    hideShown: (): void => shown.cancel(),
  };
}

/** Of steps that put the node back into service: others wait for its grant to end. */
function first(limits: Limits, summary: string) {
  return { ...optionsFor(limits, summary), priority: PRIORITY.back };
}

/**
 * Takes a step whose end a cancellation waits for. However it ends then, the update is cancelled: its
 * success is taken back, and its failure is no failure of the node.
 *
 * @throws `CancelledFailure` with what the step failed with as its cause
 */
async function toItsEnd<T>(
  options: ActivityOptions,
  step: (options: ActivityOptions) => Promise<T>,
): Promise<T> {
  const scope = CancellationScope.current();
  const [ended] = await Promise.allSettled([step(options)]);
  if (scope.consideredCancelled) {
    const cause: unknown = ended.status === 'rejected' ? ended.reason : undefined;
    throw new CancelledFailure('cancelled', [], cause instanceof Error ? cause : undefined);
  }
  if (ended.status === 'rejected') throw ended.reason;
  return ended.value;
}
