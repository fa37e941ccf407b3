/** The steps of an update in the cluster, each with the sentence that the UI shows. */

import {
  CancellationScope,
  isCancellation,
  type LocalActivityOptions,
  log,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
} from '@temporalio/workflow';
import { sentence } from '../../core/errors';
import type { PhaseSeconds } from '../../core/history/record';
import { CLUSTER_QUEUE } from '../../core/names';
import type { NodePhase } from '../../core/node/lifecycle';
import type { UpdatePlan } from '../../core/node/plan-types';
import { servesThroughout } from '../../core/node/serves';
import type { CancelReason, Cause, Release } from '../../core/node/update-states';
import type {
  AwaitReturnInput,
  ClusterActivities,
  DrainNodeInput,
  NodeStep,
  TakeOutInput,
} from '../contracts/cluster';
import { PRIORITY } from '../contracts/priorities';
import { brief, clusterLimits, type Limits, optionsFor, SHOWN } from '../contracts/timeouts';
import type { NodeUpdateInput } from '../contracts/update';

export type ClusterSteps = ReturnType<typeof clusterSteps>;

/** The server's start time orders the runs of a node, whoever asks. */
function thisRun(): Pick<NodeStep, 'workflowId' | 'run'> {
  const { workflowId, runId, runStartTime } = workflowInfo();
  return { workflowId, run: { id: runId, startedAt: runStartTime.toISOString() } };
}

const shownOnly = proxyLocalActivities<ClusterActivities>(SHOWN);

/** What is done with the node in the cluster. */
export function clusterSteps(input: NodeUpdateInput, seconds: () => PhaseSeconds) {
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

  const drain = (how: Pick<DrainNodeInput, 'isGoingBack' | 'summary'>) => {
    const startedAt = new Date(Date.now()).toISOString();
    return cluster.drainNode.executeWithOptions(optionsFor(limits.drainNode, `drain ${node}`), [
      { ...step, ...how, drain: policy.drain, startedAt },
    ]);
  };

  /** Beside the work, and never waited for. Its failure is only logged. */
  const show = (
    phase: NodePhase,
    write: (options: LocalActivityOptions) => Promise<void>,
  ): void => {
    const summary = brief(`show ${phase} on ${node}`);
    shown
      .run(() => write({ ...SHOWN, summary }))
      .catch((error: unknown) => {
        if (!isCancellation(error)) log.info(`${phase} is not shown`, { node, error });
      });
  };

  return {
    takeOut: (plan: UpdatePlan) => {
      const summary = `wait for a grant, then ${plan.drain ? 'cordon' : 'target'} ${node}`;
      const order: TakeOutInput = {
        ...{ ...step, cordon: plan.drain, summary: plan.summary },
        ...(servesThroughout(plan) ? { serves: true } : {}),
        ...(plan.drain ? { drain: policy.drain } : {}),
      };
      return cluster.takeOutOfService.executeWithOptions(
        optionsFor(limits.takeOutOfService, summary),
        [order],
      );
    },
    checkCordonBack: () =>
      cluster.checkCordon.executeWithOptions(
        optionsFor(limits.checkCordon, `nothing runs on ${node} that its way back would end`),
        [{ ...step, isGoingBack: true, drain: policy.drain }],
      ),
    /** Of a node that was uncordoned in the middle. It counts as out of service all the time, so it needs no room. */
    cordonAgain: () =>
      cluster.cordonAgain.executeWithOptions(
        optionsFor(limits.cordonAgain, `cordon ${node} once more`),
        [{ ...step, cordon: true, isGoingBack: true, drain: policy.drain }],
      ),
    drain: ({ summary }: UpdatePlan) => drain({ summary }),
    drainAgain: () => drain({ isGoingBack: true }),
    checkCordon: ({ summary }: UpdatePlan) =>
      cluster.checkCordon.executeWithOptions(
        optionsFor(limits.checkCordon, `${node} is still cordoned and drained`),
        [{ ...step, summary, drain: policy.drain }],
      ),
    /**
     * @param bootId - absent = in any boot
     * @param plan - given = it is shown that the node has to stay Ready
     */
    awaitReady: (bootId: string | undefined, readySeconds: number, plan?: UpdatePlan) => {
      const isReady = `${node} is Ready`;
      const summary = readySeconds > 0 ? `${isReady} for ${readySeconds} s` : isReady;
      const awaited: AwaitReturnInput = {
        ...{ ...step, readySeconds, timeoutSeconds: readySeconds + policy.reconnectSeconds },
        ...(bootId === undefined ? {} : { bootId }),
        ...(plan === undefined ? {} : { summary: plan.summary }),
      };
      return cluster.awaitReturn.executeWithOptions(first(limits.awaitReturn, summary), [awaited]);
    },
    complete: () =>
      cluster.completeNode.executeWithOptions(
        first(limits.completeNode, `${node} is done: set currentConfig, uncordon`),
        [{ ...step, seconds: seconds() }],
      ),
    release: ({ failure, ...how }: Release, phase: NodePhase) =>
      cluster.releaseNode.executeWithOptions(
        first(
          limits.releaseNode,
          how.hostIsBack ? `give ${node} back` : `leave ${node} as it is, with the reason`,
        ),
        [
          {
            ...{ ...step, ...how, phase, seconds: seconds() },
            unreconcilable: failure.name === 'Unreconcilable',
            reason: sentence(failure),
          },
        ],
      ),
    /** Of an update that is cancelled. Given up soon: a person waits for the end of it. */
    whyCancelled: (): Promise<CancelReason> =>
      cluster.whyCancelled
        .executeWithOptions(optionsFor(limits.whyCancelled, 'why is the update cancelled?'), [step])
        .catch((error: unknown) => {
          log.warn('it is not known why the update is cancelled', { node, error });
          return { reason: 'the update was cancelled' };
        }),
    /** On the MachineConfigNode, while the machine reboots. */
    showRebooting: ({ summary }: UpdatePlan): void => {
      show('Rebooting', (options) =>
        shownOnly.showRebooting.executeWithOptions(options, [{ ...step, summary }]),
      );
    },
    /** On the MachineConfigNode, while the host works. */
    showGoingBack: ({ outcome, failure }: Cause): void => {
      const input = { ...step, outcome, summary: sentence(failure) };
      show('GoingBack', (options) => shownOnly.showGoingBack.executeWithOptions(options, [input]));
    },
    /** Ends what is still under way, so that it is never written over the end of the update. */
    hideShown: (): void => shown.cancel(),
  };
}

/** Of steps that put the node back into service: others wait for its grant to end. */
function first(limits: Limits, summary: string) {
  return { ...optionsFor(limits, summary), priority: PRIORITY.back };
}
