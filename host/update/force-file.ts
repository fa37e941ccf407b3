/**
 * A person on the machine declares that its disk need not match. The next update ignores drift,
 * writes everything again and reboots. The file is removed through the journal, so that an undo
 * restores it.
 *
 * @see MCO pkg/daemon/update.go, forceFileExists (7ff337a4), which removes it before the drain
 */

import type { DisruptionAction } from '../../core/disruption';
import type { UpdatePlan } from '../../core/node/plan';
import { planPhases } from '../../core/node/plan-phases';
import { planSummary } from '../../core/node/plan-text';
import { FORCE_FILE } from '../records/committed-deployment';
import type { Files, PathChange } from '../ports';

export async function isForced(files: Pick<Files, 'facts'>): Promise<boolean> {
  return (await files.facts(FORCE_FILE)).kind !== 'absent';
}

const REBOOT: readonly DisruptionAction[] = [{ type: 'Reboot' }];

/** It always ends with a reboot. */
export function forcedPlan(plan: UpdatePlan): UpdatePlan {
  if (!plan.reconcilable.ok) return plan;
  const everything = {
    part: 'File',
    what: 'everything is written again',
    cost: REBOOT,
    why: `${FORCE_FILE} is there`,
  } as const;
  const forced = {
    ...plan,
    changes: [...plan.changes, everything],
    actions: REBOOT,
    drain: true,
    reboot: true,
  };
  const drain = { drain: true, reason: 'the node reboots' } as const;
  return { ...forced, phases: planPhases(forced, drain), summary: planSummary(forced) };
}

export const FORCE_CONSUMED: PathChange = { path: FORCE_FILE, state: { kind: 'absent' } };
