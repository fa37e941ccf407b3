/** When a drift report is worth sending. */

import { type DriftFinding, type DriftReport, UPDATERS_REPORTED } from '../../core/drift';
import type { DomainError } from '../../core/errors';
import type { MachineTree } from '../../core/machine/tree';
import { findUpdaters } from '../../core/machine/updaters';

/** Equal texts need no report. A host without drift sends no report for another config. */
export function newsIn(report: DriftReport): string {
  const { count, repairs, forced, updaters } = report;
  const isCalm = count === 0 && repairs.length === 0 && !forced && updaters === undefined;
  return isCalm ? 'as expected' : JSON.stringify(report);
}

export function updatersOn(tree: MachineTree): Pick<DriftReport, 'updaters'> {
  const updaters = findUpdaters(tree).slice(0, UPDATERS_REPORTED);
  return updaters.length === 0 ? {} : { updaters };
}

export function keyOf(findings: readonly DriftFinding[]): string {
  return JSON.stringify(findings);
}

/** Milliseconds. @param error - of the catalogue */
export function retryAfterOf(error: unknown): number {
  const seconds = (error as DomainError).details?.['retryAfter'];
  return typeof seconds === 'number' ? seconds * 1000 : 0;
}
