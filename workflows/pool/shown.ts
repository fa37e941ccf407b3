/** What the Temporal UI shows of a rollout. */

import { fewNames } from '../../core/few';
import type { StepResult } from '../contracts/rollout';

/** One line in the list of events: `granted worker-3, worker-6; 12 of 200 done`. */
export function summaryOf({ granted, grantedCount, updated, blocker }: StepResult): string {
  const done = `${updated} done`;
  if (grantedCount > 0) return `granted ${fewNames(granted, { total: grantedCount })}; ${done}`;
  return blocker === undefined ? done : `${done}; ${blocker}`;
}

/** Markdown. */
export function detailsOf(pool: string, { config, state, blocker, updated }: StepResult): string {
  const lines = [
    `**${pool}** → \`${config ?? 'no config yet'}\` — **${state}**, ${updated} nodes updated`,
    ...(blocker === undefined ? [] : ['', blocker]),
    '',
    `Nodes: \`kubectl get poolrollout ${pool} -o yaml\` or \`slipway rollout status ${pool}\``,
  ];
  return lines.join('\n');
}
