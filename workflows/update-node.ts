/**
 * The update of one node. It promises that the node ends either verified on its config, or back
 * where it was with the reason reported, whatever fails or whoever cancels in between.
 */

import {
  ApplicationFailure,
  CancelledFailure,
  getExternalWorkflowHandle,
  log,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { UpdatePlan } from '../core/node/plan';
import type { WrittenNode } from './activity-contracts';
import { explain, type Failure } from './failures';
import { nodeFinishedSignal, type NodeReport, type UpdateNodeInput } from './messages';
import type { Ending } from './node-progress';
import { returnSlot, waitForSlot } from './node-slot';
import {
  beginUpdate,
  refuseForeignStart,
  refuseUnreconcilable,
  shielded,
  type NodeUpdate,
} from './node-update';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { takeBack } from './take-back';

/**
 * Brings one node to one config. Started by `poolRollout` as `update-node/<node>`: at most one per
 * machine. Answers `status`; hears `proceed` (its slot) and `attach` (another rollout takes over).
 *
 * Cancelling it before the reboot is armed takes everything back; from there on it finishes first.
 *
 * @returns the report that the rollout got, too; a failed update fails with the catalogue name of
 * its cause, a cancelled one ends as cancelled, both after the report was sent
 * @throws `WrongWorkflowId` or `RefusedRequest` at once when it was not started by a rollout
 */
export async function updateNode(input: UpdateNodeInput): Promise<NodeReport> {
  refuseForeignStart(input);
  const update = beginUpdate(input);
  const { progress, host, cluster } = update;
  let ending: Ending;
  try {
    // 1, 2. Nothing is disturbed before everything that can be checked or downloaded is.
    const prepared = await progress.during('Preparing', host.prepare, 'the host to prepare it');
    update.settled = true;
    progress.plan = prepared.plan;
    if (prepared.alreadyOnTarget) {
      update.verified = true;
      ending = endedWell(await shielded(() => progress.during('Completing', cluster.complete)));
    } else {
      refuseUnreconcilable(prepared.plan);
      await takeOutOfService(update, prepared.plan);
      await change(update, prepared.plan);
      ending = endedWell(await shielded(() => complete(update)));
    }
  } catch (error) {
    ending = await shielded(() => takeBack(update, error));
  }
  const report = progress.report(ending);
  await shielded(() => sendToAll(update, report));
  return endAs(report, ending.failure);
}

/** 3. Slot and cordon. A slot that cost nothing is given back when the node is in service again. */
async function takeOutOfService(update: NodeUpdate, plan: UpdatePlan): Promise<void> {
  const { input, progress, cluster } = update;
  for (;;) {
    await waitForSlot(input, progress);
    // Taken back by releaseNode.
    update.touched = true;
    const isRepair = progress.slotIsForRepair;
    try {
      await progress.during('Cordoning', () => cluster.cordon(plan, isRepair));
      return;
    } catch (error) {
      if (explain(error).name !== 'SlotNeeded') throw error;
      await returnSlot(input, progress);
    }
  }
}

/** 3 to 6: from the drain to the proof. Until the reboot is armed it can be cancelled anywhere. */
async function change(update: NodeUpdate, plan: UpdatePlan): Promise<void> {
  const { progress, host, cluster } = update;
  if (plan.drain) await progress.during('Draining', cluster.drain, 'pods to leave the node');

  // 4. Taken back by goBack, byte for byte.
  update.applied = true;
  cluster.show('Applying', plan.summary);
  await progress.during('Applying', host.apply);

  // 5, 6. Past the point of no return, cancelling means: finish, then stop.
  if (plan.reboot) {
    progress.pastPointOfNoReturn = true;
    await shielded(() => reboot(update, plan));
  } else {
    await actOnServices(update, plan);
  }
}

async function reboot(update: NodeUpdate, plan: UpdatePlan): Promise<void> {
  const { input, progress, host, cluster } = update;
  cluster.show('Rebooting', plan.summary);
  const before = await progress.during('Rebooting', host.armReboot);
  const verify = () => host.verify(before.bootId);
  const after = await progress.during('Rebooting', verify, 'the machine to come back');
  const ready = () => cluster.awaitReady(after.bootId, input.policy.readySeconds);
  await progress.during('Verifying', ready, 'the node to be Ready');
}

async function actOnServices(update: NodeUpdate, plan: UpdatePlan): Promise<void> {
  const { input, progress, host, cluster } = update;
  const types = new Set(plan.actions.map(({ type }) => type));
  const touched = (['Restart', 'Reload', 'DaemonReload', 'Special'] as const).some((type) =>
    types.has(type),
  );
  if (touched) await progress.during('Reloading', host.performServiceActions);
  await progress.during('Verifying', () => host.verify());
  // What was restarted may fall over a moment later; what was not stays as it was.
  await cluster.awaitReady(undefined, types.has('Restart') ? input.policy.readySeconds : 0);
}

/** 7. The node is on its config, whatever happens now: both are retried for a day. */
async function complete(update: NodeUpdate): Promise<WrittenNode> {
  const { progress, host, cluster } = update;
  update.verified = true;
  cluster.hideShown();
  // What fails for good is shown only when the other one is over: never two writers of one Node.
  const [written, committed] = await progress.during('Completing', () =>
    Promise.allSettled([cluster.complete(), host.commit()]),
  );
  if (written.status === 'rejected') throw written.reason;
  if (committed.status === 'rejected') throw committed.reason;
  return written.value;
}

function endedWell({ inService, resourceVersion }: WrittenNode): Ending {
  return { outcome: 'updated', ...(inService ? { inServiceAt: resourceVersion } : {}) };
}

/** A rollout that attaches at the very end must hear of it, too. */
async function sendToAll(update: NodeUpdate, report: NodeReport): Promise<void> {
  const { progress } = update;
  for (let told = -1; told !== progress.attachedTo;) {
    told = progress.attachedTo;
    await send(update, report);
  }
}

/** The rollout hears of it before the workflow ends; nobody there must not hide the outcome. */
async function send({ progress }: NodeUpdate, report: NodeReport): Promise<void> {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.outcome, value: report.outcome }]);
  const { reportTo } = progress;
  await getExternalWorkflowHandle(reportTo)
    .signal(nodeFinishedSignal, report)
    .catch((error: unknown) => log.warn('nobody to report to', { reportTo, error }));
}

/** How the Temporal UI shows the end: Completed, Failed with the name of the cause, or Canceled. */
function endAs(report: NodeReport, failure: Failure | undefined): NodeReport {
  if (report.outcome === 'updated') return report;
  const message = `${report.node}: ${failure?.reason ?? report.outcome}`;
  if (report.outcome === 'cancelled' && failure?.name === undefined) {
    throw new CancelledFailure(message);
  }
  throw ApplicationFailure.nonRetryable(message, failure?.name ?? 'UpdateFailed');
}
