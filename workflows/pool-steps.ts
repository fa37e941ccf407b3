/** What a rollout asks of the cluster and of its node updates, with the sentence the UI shows. */

import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  getExternalWorkflowHandle,
  log,
  proxyActivities,
  startChild,
  workflowInfo,
  type ExternalWorkflowHandle,
} from '@temporalio/workflow';
import { CLUSTER_QUEUE, updateNodeId } from '../core/names';
import type { Candidate } from '../core/rollout/index';
import type {
  ClusterActivities,
  DepartedNode,
  PoolLook,
  SelectNodesInput,
  SelectNodesResult,
  WrittenNode,
} from './contracts/cluster';
import {
  attachSignal,
  nodeGoneSignal,
  proceedSignal,
  stoppingSignal,
  type ChildState,
} from './messages';
import { shielded } from './node-update';
import { PRIORITY } from './contracts/priorities';
import { slotOf } from './rollout-decisions';
import type { Rollout } from './rollout-state';
import { SEARCH_ATTRIBUTE } from './contracts/search-attributes';
import {
  AWAITED,
  brief,
  type Limits,
  LOOK,
  optionsFor,
  ROLLOUT_LIMITS,
  STILL_RUNNING,
} from './contracts/timeouts';
import type { updateNode } from './update-node';

const cluster = proxyActivities<ClusterActivities>({
  taskQueue: CLUSTER_QUEUE,
  startToCloseTimeout: '1m',
});

/**
 * One look at the pool; costs no request, because the cluster worker watches it anyway. Not inside the
 * workflow task: where a query is answered while a local activity runs, Core (sdk-rust pull request 1442)
 * resolves it after the signals of the next task, and in a replay before them. What a rollout does next
 * follows from both.
 */
export function selectNodes(input: SelectNodesInput): Promise<SelectNodesResult> {
  const summary = brief(`look at pool ${input.pool}`);
  return cluster.selectNodes.executeWithOptions({ ...LOOK, summary }, [input]);
}

export function holdNode(rollout: Rollout, node: string, reason?: string): Promise<WrittenNode> {
  const { pool, config } = rollout;
  const summary = reason === undefined ? `release ${node}` : `hold ${node}: ${reason}`;
  const written = cluster.holdNode.executeWithOptions(
    optionsFor(ROLLOUT_LIMITS.holdNode, summary),
    [{ node, pool, config, ...(reason === undefined ? {} : { reason }) }],
  );
  // Beside what the caller waits for, who hears also of a failure: one promise more on the way to them would be
  // another order in histories.
  const note = ({ resourceVersion }: WrittenNode): void => {
    if (reason !== undefined && rollout.config === config) {
      rollout.holdIsWritten(node, resourceVersion);
    }
  };
  written.then(note, () => undefined);
  return written;
}

/** @param ends - the pause that a resume is to end */
export function setPoolPaused(
  pool: string,
  paused: boolean,
  reason: string,
  ends?: { readonly reason?: string },
): Promise<void> {
  const summary = `${paused ? 'pause' : 'resume'} pool ${pool}: ${reason}`;
  return cluster.setPoolPaused.executeWithOptions(
    optionsFor(ROLLOUT_LIMITS.setPoolPaused, summary),
    [{ pool, paused, reason, ...(ends === undefined ? {} : { ends }) }],
  );
}

/** @param config - '' = the one that the pool has */
export function markRolloutCancelled(pool: string, config: string): Promise<void> {
  const what = config === '' ? `the config of pool ${pool}` : config;
  return cluster.markRolloutCancelled.executeWithOptions(
    optionsFor(ROLLOUT_LIMITS.markRolloutCancelled, `remember that ${what} was cancelled`),
    [{ pool, ...(config === '' ? { ofPool: true as const } : { config }) }],
  );
}

/** Whoever starts a rollout again takes an earlier cancellation back. */
export function forgetRolloutCancelled(pool: string): Promise<void> {
  return cluster.markRolloutCancelled.executeWithOptions(
    optionsFor(
      // Whoever cancels the rollout meanwhile writes that only after this has ended.
      { ...ROLLOUT_LIMITS.markRolloutCancelled, cancellationType: AWAITED },
      'forget that the rollout was cancelled',
    ),
    [{ pool }],
  );
}

export function markRolloutStarted(pool: string, config: string): Promise<void> {
  return cluster.markRolloutStarted.executeWithOptions(
    optionsFor(ROLLOUT_LIMITS.markRolloutStarted, `remember that ${config} was started`),
    [{ pool, config }],
  );
}

/** Whatever becomes of the nodes now, nobody has started it for them. */
export function forgetRolloutStarted(pool: string): Promise<void> {
  return cluster.markRolloutStarted.executeWithOptions(
    optionsFor(ROLLOUT_LIMITS.markRolloutStarted, 'forget that the rollout was started'),
    [{ pool }],
  );
}

export function findRunningUpdates(
  nodes: readonly string[],
  pool?: string,
  limits: Limits = pool === undefined ? STILL_RUNNING : ROLLOUT_LIMITS.findRunningUpdates,
): Promise<readonly string[]> {
  return cluster.findRunningUpdates.executeWithOptions(
    optionsFor(limits, 'find node updates that still run'),
    [{ nodes, ...(pool === undefined ? {} : { pool }) }],
  );
}

/**
 * Starts the update of a node; it outlives this run of the rollout and reports by signal. One that
 * runs already is adopted.
 */
export async function startUpdate(
  rollout: Rollout,
  view: PoolLook,
  { node, uid, currentConfig, repair, unfinished, halfDone }: Candidate,
): Promise<void> {
  const { pool } = rollout;
  const { config, policy, disruptionPolicies } = view;
  if (config === undefined) return;
  const digest = currentConfig === undefined ? undefined : view.digests[currentConfig];
  rollout.start(node, config.name, uid);
  const life = rollout.lifeOf(node);
  try {
    const handle = await shielded(() =>
      startChild<typeof updateNode>('updateNode', {
        workflowId: updateNodeId(node),
        args: [
          {
            ...{ node, pool, config, policy, disruptionPolicies, repair },
            ...(uid === undefined ? {} : { uid }),
            ...(unfinished === undefined ? {} : { unfinished }),
            ...(halfDone === undefined ? {} : { halfDone }),
            ...(rollout.triedAgain.has(node) ? { triedAgain: true as const } : {}),
            // A config that is gone is left to the host, which keeps its own record.
            ...(currentConfig === undefined || digest === undefined
              ? {}
              : { currentConfig: { name: currentConfig, digest } }),
            reportTo: workflowInfo().workflowId,
          },
        ],
        parentClosePolicy: 'ABANDON',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        priority: PRIORITY.update,
        staticSummary: brief(`${pool}: ${node} → ${config.name}`),
        typedSearchAttributes: [
          { key: SEARCH_ATTRIBUTE.pool, value: pool },
          { key: SEARCH_ATTRIBUTE.node, value: node },
          { key: SEARCH_ATTRIBUTE.config, value: config.name },
        ],
      }),
    );
    const runId = handle.firstExecutionRunId;
    rollout.started(node, runId);
    // Somebody changed their mind in between.
    if (rollout.children.get(node)?.cancelling !== undefined) sendEnd(rollout, node);
    const closed = (): void => {
      const isAnother = rollout.children.get(node)?.runId !== runId;
      const isFollowed = isAnother && rollout.lifeOf(node) !== life;
      rollout.closed(node, runId, isFollowed);
    };
    handle.result().then(closed, closed);
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) meetUpdate(rollout, node);
    else {
      log.error('the update of a node did not start', { node, error });
      rollout.vanished(node);
    }
  }
}

/**
 * An update runs already. Of a node that has been moved meanwhile it is the one of its new pool: whoever had it
 * report here would keep its news from the rollout that waits for them.
 */
function meetUpdate(rollout: Rollout, node: string): void {
  const told = rollout.children.get(node)?.cancelling;
  if (told?.why === 'moved') return rollout.vanished(node);
  adoptUpdate(rollout, node);
  // What a person has said of the node meanwhile was meant for it.
  if (told?.why === 'operator') cancelUpdate(rollout, node, told);
}

/** Asks an update that runs already to report here; until it answers it counts as a slot holder. */
export function adoptUpdate(rollout: Rollout, node: string): void {
  rollout.adopt(node);
  attachTo(rollout, node);
}

/** Whoever works on the node is to report here. */
export function attachTo(rollout: Rollout, node: string): void {
  const { workflowId } = workflowInfo();
  tell(rollout, node, () =>
    getExternalWorkflowHandle(updateNodeId(node)).signal(attachSignal, { reportTo: workflowId }),
  );
}

/** Gives a node its slot. */
export function grantSlot(rollout: Rollout, view: PoolLook, node: string): void {
  const grantedAt = rollout.grant(node);
  const slot = workflowInfo().workflowId;
  const proceed = { slot, ...slotOf(rollout, view, node), grantedAt };
  tell(rollout, node, () => updateOf(rollout, node).signal(proceedSignal, proceed));
}

/** Asks an update to stop; it takes its node back first, or finishes if it must. */
export function cancelUpdate(
  rollout: Rollout,
  node: string,
  why: NonNullable<ChildState['cancelling']>,
): void {
  rollout.cancelling(node, why);
  if (!rollout.starting.has(node)) sendEnd(rollout, node);
}

/**
 * A node has left the pool, and with it everything that is remembered of it. Its update ends: at once
 * when the Node was deleted; when it was moved, its host goes back first, or finishes if it must.
 */
export function endUpdateOf(rollout: Rollout, departed: DepartedNode): void {
  const { node, reason } = departed;
  if (!rollout.departed(departed)) return;
  log.info('a node has left the pool', { node, reason });
  if (rollout.children.has(node) && !rollout.starting.has(node)) sendEnd(rollout, node);
}

function sendEnd(rollout: Rollout, node: string): void {
  const { why, reason = '' } = rollout.children.get(node)?.cancelling ?? {};
  tell(rollout, node, async () => {
    const update = updateOf(rollout, node);
    if (why === 'deleted') return update.signal(nodeGoneSignal, { reason });
    await update.signal(stoppingSignal, { reason });
    return update.cancel();
  });
}

/**
 * The very run that this rollout means, as far as it is known: another pool that the node has moved to
 * may have started the next one under the same ID.
 */
function updateOf(rollout: Rollout, node: string): ExternalWorkflowHandle {
  return getExternalWorkflowHandle(updateNodeId(node), rollout.children.get(node)?.runId);
}

/** Sends without waiting. An update that cannot be reached does not run any more. */
function tell(rollout: Rollout, node: string, send: () => Promise<void>): void {
  rollout.telling += 1;
  const life = rollout.lifeOf(node);
  shielded(send)
    .catch((error: unknown) => {
      log.warn('a node update is gone', { node, error });
      if (rollout.lifeOf(node) !== life) return;
      rollout.vanished(node);
    })
    .finally(() => {
      rollout.telling -= 1;
    })
    .catch(() => undefined);
}
