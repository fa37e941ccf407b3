/**
 * The update of one node. Whatever fails or is cancelled, the node ends in one of two states: verified on
 * its new config, or back on the old one with the reason reported. What follows what is in `core/node/update.ts`.
 */

import { ApplicationFailure, CancelledFailure, workflowInfo } from '@temporalio/workflow';
import { secondsByPhase } from '../../core/history/updates';
import { updateNodeId } from '../../core/names';
import { next } from '../../core/node/update';
import {
  BEGIN,
  type CancelReason,
  type Ending,
  type UpdateEvent,
  type UpdateFacts,
  type UpdateState,
} from '../../core/node/update-states';
import { refuse } from '../contracts/failures';
import type { NodeReport, NodeUpdateInput } from '../contracts/update';
import { cancellationOf, eventOf } from './cancellation';
import { NodeProgress } from './progress';
import { stepsOf } from './steps';

/**
 * Brings one node to one config. A step of `poolRollout` starts it as `update-node/<node>`, so a node has
 * at most one. Its query is `status`.
 *
 * A cancellation before the reboot is armed undoes everything. After that the update finishes first. When
 * its Node is deleted, it fails at once with `NodeDeleted`.
 *
 * @returns the report. A failed update fails with the name of its cause in the catalogue of errors, one that was
 * cancelled in Temporal ends as cancelled. What ends it by itself, as a hold that it sees first, has its name, too. The
 * report is in the details of the failure.
 * @throws `WrongWorkflowId` or `RefusedRequest` at once if no rollout started it
 */
export async function updateNode(input: NodeUpdateInput): Promise<NodeReport> {
  refuseForeignStart(input);
  const progress = new NodeProgress(input);
  const steps = stepsOf(input, () => secondsByPhase(progress.phases()));
  const cancellation = cancellationOf(steps.whyCancelled);
  const at: { state: UpdateState } = { state: BEGIN };
  const turn = (event: UpdateEvent): void => {
    const before = at.state;
    if (before.is === 'ended') return;
    at.state = next(before, event, factsOf(input, cancellation.why));
    steps.turned(before, at.state);
    progress.show(at.state);
  };
  while (at.state.is !== 'ended') {
    const { state } = at;
    const take = () =>
      steps.take(state, () => {
        turn({ is: 'given back' });
      });
    turn(await eventOf(state, take, cancellation));
  }
  return endAs(progress, at.state.ending, cancellation.why);
}

function factsOf(input: NodeUpdateInput, cancelled: CancelReason | undefined): UpdateFacts {
  const { config, found, takesBack, policy } = input;
  return {
    ...{ config: config.name, found, takesBack: takesBack === true },
    retriesDrain: policy.drain.onTimeout === 'RetryLater',
    ...(cancelled === undefined ? {} : { cancelled }),
  };
}

/** Completed, Failed with the name of the cause, or Canceled: only what Temporal has cancelled can end so. */
function endAs(
  progress: NodeProgress,
  ending: Ending,
  cancelled: CancelReason | undefined,
): NodeReport {
  const { outcome, failure } = ending;
  const report = progress.report(ending);
  if (outcome === 'updated') return report;
  const message = `${report.node}: ${failure?.reason ?? outcome}`;
  const isGone = failure?.name === 'NodeDeleted';
  if (outcome === 'cancelled' && cancelled !== undefined && !isGone) {
    throw new CancelledFailure(message);
  }
  throw ApplicationFailure.nonRetryable(message, failure?.name ?? 'UpdateFailed', report);
}

/** Refuses an update that a person started by hand: the Temporal UI lets one. */
function refuseForeignStart(input: Partial<NodeUpdateInput> | undefined): void {
  const { workflowId } = workflowInfo();
  const { node, uid, pool, poolUid, config, policy, disruptionPolicies, found } = input ?? {};
  const isWhole = node && uid && pool && poolUid && config && policy && disruptionPolicies && found;
  if (!isWhole) {
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
