/** Plans for people: one sentence, or one line per change. */

import { actionText, type DisruptionAction } from '../disruption';
import { fewNames } from '../few';
import type { PlannedChange, UpdatePlan } from './plan-types';

/** Cost first, then the changes that cause it: `reboot: kernel arguments changed (+nosmt)`. */
export function planSummary(plan: Omit<UpdatePlan, 'phases' | 'summary'>): string {
  if (!plan.reconcilable.ok) return `cannot be applied: ${plan.reconcilable.reason}`;
  if (plan.changes.length === 0) return 'nothing to do';
  const costs = [...(plan.drain && !plan.reboot ? ['drain'] : []), ...plan.actions.map(actionText)];
  const cost = costs.length === 0 ? 'no disruption' : costs.join(', ');
  return `${cost}: ${changesText(causesOf(plan))}`;
}

/**
 * The changes that cause the reboot, if there is one; otherwise those with a cost; otherwise all.
 */
export function causesOf({
  changes,
  reboot,
}: Pick<UpdatePlan, 'changes' | 'reboot'>): readonly PlannedChange[] {
  const costly = changes.filter(({ cost }) =>
    cost.some(({ type }) => (reboot ? type === 'Reboot' : type !== 'None')),
  );
  return costly.length > 0 ? costly : changes;
}

/** The first changes by name and the number of the others; empty for none. */
export function changesText(changes: readonly PlannedChange[]): string {
  return fewNames(changes.map(({ what }) => what));
}

/** A rule with more changes than this has one line. */
const LINES_OF_A_RULE = 5;

/**
 * The summary, then one indented line per change with its cost and rule, or per rule with many
 * changes. No colour and no alignment.
 */
export function describePlan(plan: UpdatePlan): readonly string[] {
  const groups = new Map<string, PlannedChange[]>();
  for (const change of plan.changes) {
    const decision = `${costText(change.cost)} (${change.why})`;
    groups.set(decision, [...(groups.get(decision) ?? []), change]);
  }
  const lines = [...groups].flatMap(([decision, changes]) =>
    changes.length > LINES_OF_A_RULE
      ? [`  ${changesText(changes)}: ${decision}`]
      : changes.map(({ what }) => `  ${what}: ${decision}`),
  );
  return [plan.summary, ...lines];
}

function costText(cost: readonly DisruptionAction[]): string {
  return cost.length === 0 ? 'nothing' : cost.map(actionText).join(', ');
}
