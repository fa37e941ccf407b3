/** The end of a node update: how its rollout hears of it, and how the Temporal UI shows it. */

import {
  ApplicationFailure,
  CancelledFailure,
  getExternalWorkflowHandle,
  log,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Failure } from './contracts/failures';
import { nodeFinishedSignal, type NodeReport } from './messages';
import type { Ending } from './node-progress';
import type { NodeUpdate } from './node-update';
import { SEARCH_ATTRIBUTE } from './contracts/search-attributes';

/**
 * Tells the rollout how the update ended, once, and every rollout that attaches until then. Never throws: nobody there
 * must not hide the outcome.
 */
export async function report({ progress }: NodeUpdate, ending: Ending): Promise<NodeReport> {
  const said = { report: progress.report(ending), attachedTo: -1 };
  progress.said = said;
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.outcome, value: ending.outcome }]);
  while (said.attachedTo !== progress.attachedTo) {
    said.attachedTo = progress.attachedTo;
    const { reportTo, others } = progress;
    await Promise.all([reportTo, ...others].map((rollout) => tellRollout(rollout, said.report)));
  }
  return said.report;
}

async function tellRollout(reportTo: string, told: NodeReport): Promise<void> {
  await getExternalWorkflowHandle(reportTo)
    .signal(nodeFinishedSignal, told)
    .catch((error: unknown) => log.warn('nobody to report to', { reportTo, error }));
}

/** Completed, Failed with the name of the cause, or Canceled. */
export function endAs(report: NodeReport, failure: Failure | undefined): NodeReport {
  if (report.outcome === 'updated') return report;
  const message = `${report.node}: ${failure?.reason ?? report.outcome}`;
  if (report.outcome === 'cancelled' && failure?.name === undefined) {
    throw new CancelledFailure(message);
  }
  throw ApplicationFailure.nonRetryable(message, failure?.name ?? 'UpdateFailed');
}
