/** What of the drift of a host is news, and how long to wait before it is told again. */

import type { DriftFinding, DriftReport } from '../../core/drift';
import type { DomainError } from '../../core/errors';

/** Equal texts are no news. Of a host that never drifted, another config is none. */
export function newsIn(report: DriftReport): string {
  const { count, repairs, forced } = report;
  return count === 0 && repairs.length === 0 && !forced ? 'as expected' : JSON.stringify(report);
}

export function keyOf(findings: readonly DriftFinding[]): string {
  return JSON.stringify(findings);
}

/** Of the catalogue. Milliseconds; 0 when the server did not say. */
export function retryAfterOf(error: unknown): number {
  const seconds = (error as DomainError).details?.['retryAfter'];
  return typeof seconds === 'number' ? seconds * 1000 : 0;
}
