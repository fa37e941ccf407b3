/**
 * The update of one node. Whatever fails or is cancelled, the node ends in one of two states: verified on
 * its new config, or back on the old one with the reason reported.
 */

import { ApplicationFailure, CancelledFailure, upsertSearchAttributes } from '@temporalio/workflow';
import type { UpdatePlan } from '../../core/node/plan-types';
import type { Failure } from '../contracts/failures';
import { SEARCH_ATTRIBUTE } from '../contracts/search-attributes';
import type { NodeReport, NodeUpdateInput } from '../contracts/update';
import { complete, finish } from './completion';
import type { Ending } from './progress';
import { proveAndReturn } from './proof';
import { endGone, takeBack } from './take-back';
import { beginUpdate, refuseForeignStart, refuseUnreconcilable, type NodeUpdate } from './update';

/**
 * Brings one node to one config. A step of `poolRollout` starts it as `update-node/<node>`, so a node has
 * at most one. Its query is `status`.
 *
 * A cancellation before the reboot is armed undoes everything. After that the update finishes first. When
 * its Node is deleted, it fails at once with `NodeDeleted`.
 *
 * @returns the report. A failed update fails with the name of its cause in the catalogue of errors, one that was
 * cancelled in Temporal ends as cancelled. What ends it by itself, as a hold that it sees first, has its name, too.
 * @throws `WrongWorkflowId` or `RefusedRequest` at once if no rollout started it
 */
export async function updateNode(input: NodeUpdateInput): Promise<NodeReport> {
  refuseForeignStart(input);
  const update = beginUpdate(input);
  const { progress, life, cluster } = update;
  const ending = await Promise.race([
    life.run(() => bring(update), cluster.whyCancelled),
    life.over.then((failure) => endGone(update, failure)),
  ]);
  const report = progress.report(ending);
  progress.end(ending);
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.outcome, value: ending.outcome }]);
  return endAs(report, ending.failure, life.cancelled !== undefined);
}

/** To its config, or back. Never throws. */
async function bring(update: NodeUpdate): Promise<Ending> {
  const { progress, life, host } = update;
  try {
    // 1, 2. Nothing is disturbed before everything that can be checked or downloaded is.
    update.preparing = true;
    const prepared = await progress.during('Preparing', host.prepare, 'the host to prepare it');
    update.preparing = false;
    update.settled = prepared.unsettled !== true;
    update.tookOver = prepared.tookOver === true;
    update.hostIsOn = prepared.currentConfig;
    progress.plan = prepared.plan;
    if (prepared.alreadyOnTarget) return await life.shielded(() => complete(update));
    refuseUnreconcilable(prepared.plan);
    const drained = await takeOutOfService(update, prepared.plan);
    await change(update, prepared.plan, drained);
    return await life.shielded(() => finish(update));
  } catch (error) {
    return life.shielded(() => takeBack(update, error));
  }
}

/**
 * 3. Grant and cordon. Taken back by the release of the node.
 *
 * @returns whether there is nothing to drain any more
 */
async function takeOutOfService(update: NodeUpdate, plan: UpdatePlan): Promise<boolean> {
  const { progress, cluster } = update;
  const out = () => cluster.takeOut(plan);
  const { drained } = await progress.during('WaitingForGrant', out, 'a grant of its pool');
  update.takenOut = true;
  return !plan.drain || drained !== undefined;
}

/** 3 to 6: from the drain to the proof. Until the reboot is armed it can be cancelled anywhere. */
async function change(update: NodeUpdate, plan: UpdatePlan, drained: boolean): Promise<void> {
  const { progress, host } = update;
  if (!drained) await drain(update, plan, 'pods to leave the node');

  // 4. Taken back by goBack, byte for byte.
  update.applied = true;
  await progress.during('Applying', host.apply, 'the host to write its files');

  // 5, 6. Past the point of no return, cancelling means: finish, then stop.
  if (plan.reboot) {
    if (plan.drain) await drainLate(update, plan);
    progress.pastPointOfNoReturn = true;
    await update.life.shielded(() => reboot(update, plan));
  } else {
    await actOnServices(update, plan);
  }
}

/**
 * The scheduler may have chosen the node before its cordon and bound a pod to it after its drain, late for
 * a volume: the reboot would end it without asking any budget. The end of that drain is a look of its own.
 */
async function drainLate(update: NodeUpdate, plan: UpdatePlan): Promise<void> {
  const { progress, cluster } = update;
  const look = () => cluster.checkCordon(plan);
  const about = 'a look at the cordon and the pods of its node';
  const { isEmpty } = await progress.during('Applying', look, about);
  if (!isEmpty) await drain(update, plan, 'pods that came since its drain to leave the node');
}

function drain({ progress, cluster }: NodeUpdate, plan: UpdatePlan, blocker: string) {
  return progress.during('Draining', () => cluster.drain(plan), blocker);
}

async function reboot(update: NodeUpdate, plan: UpdatePlan): Promise<void> {
  const { progress, host, cluster } = update;
  const { bootId } = await progress.during(
    'Rebooting',
    host.armReboot,
    'the host to begin its reboot',
  );
  await proveAndReturn(update, {
    phase: 'Rebooting',
    blocker: 'the machine to come back',
    prove: () => host.verify(bootId),
    comeBack: () => cluster.awaitReturn(plan, bootId),
  });
}

async function actOnServices(update: NodeUpdate, plan: UpdatePlan): Promise<void> {
  const { input, progress, host, cluster } = update;
  const types = new Set(plan.actions.map(({ type }) => type));
  const touched = (['Restart', 'Reload', 'DaemonReload', 'Special'] as const).some((type) =>
    types.has(type),
  );
  const services = 'the host to act on its services';
  if (touched) await progress.during('Reloading', host.performServiceActions, services);
  await proveAndReturn(update, {
    phase: 'Verifying',
    blocker: 'the host to verify what it has',
    prove: () => host.verify(),
    // Whatever was told to act or not: a service may watch its files, and the node falls over a moment later.
    comeBack: () => cluster.awaitReady(undefined, input.policy.readySeconds),
  });
}

/** Completed, Failed with the name of the cause, or Canceled: only what Temporal has cancelled can end so. */
function endAs(report: NodeReport, failure: Failure | undefined, isCancelled: boolean): NodeReport {
  if (report.outcome === 'updated') return report;
  const message = `${report.node}: ${failure?.reason ?? report.outcome}`;
  const isGone = failure?.name === 'NodeDeleted';
  if (report.outcome === 'cancelled' && isCancelled && !isGone) throw new CancelledFailure(message);
  throw ApplicationFailure.nonRetryable(message, failure?.name ?? 'UpdateFailed');
}
