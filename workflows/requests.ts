/** What people ask of a rollout: how it is read, and how it is refused with a sentence. */

import type { ApplicationFailure } from '@temporalio/workflow';
import { oneLine } from '../core/encoding/one-line';
import { explain, refuse, sentence } from './contracts/failures';
import type { Reason } from './messages';
import type { Rollout } from './rollout-state';

export function refuseWhileEnding({ ending, pool }: Rollout): void {
  if (ending !== undefined) throw nonsense(`the rollout of pool ${pool} is ending: ${ending}`);
}

/** The Temporal UI sends whatever a person typed, or nothing. */
export function isBlank(text: unknown): text is undefined {
  return typeof text !== 'string' || oneLine(text) === '';
}

export function reasonOf(request: Partial<Reason> | undefined, otherwise: string): string {
  const reason = isBlank(request?.reason) ? otherwise : oneLine(request.reason);
  return isBlank(request?.by) ? reason : `${reason} (${oneLine(request.by)})`;
}

export function because(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`;
}

export function nonsense(message: string): ApplicationFailure {
  return refuse('RefusedRequest', message);
}

export function failed(what: string, error: unknown): ApplicationFailure {
  const failure = explain(error);
  return refuse(failure.name ?? 'RefusedRequest', `${what}: ${sentence(failure)}`);
}
