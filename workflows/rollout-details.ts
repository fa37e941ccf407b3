/** What the Temporal UI shows of a rollout: a small table in markdown. */

import type { ChildState, RolloutProgress } from './messages';

const ROWS = 25;

const STAGE: Readonly<Record<ChildState['stage'], string>> = {
  preparing: 'preparing',
  waiting: 'prepared, waiting for a slot',
  working: 'updating',
};

/** Counts, what it waits for, and the nodes under way; bounded whatever the size of the pool. */
export function rolloutDetails(progress: RolloutProgress): string {
  const { pool, config, state, blocker, updated, machineCount, maxUnavailable } = progress;
  return [
    `**${pool}** → \`${config || 'no config yet'}\` — **${state}**`,
    ...(blocker === undefined ? [] : ['', blocker]),
    ...simulatedHosts(progress),
    '',
    ...header('updated', 'slots in use', 'failed', 'held', 'blocked'),
    row(
      `${updated} of ${machineCount}`,
      `${progress.slots.length} of ${maxUnavailable}`,
      ...[progress.failedCount, progress.heldCount, progress.blockedCount].map(String),
    ),
    ...nodesUnderWay(progress.children),
    ...failedNodes(progress),
  ].join('\n');
}

function simulatedHosts({ simulatedCount, machineCount }: RolloutProgress): readonly string[] {
  if (simulatedCount === undefined) return [];
  const which = simulatedCount === machineCount ? 'all' : String(simulatedCount);
  return ['', `_Simulated hosts: ${which} of ${machineCount}. No machines are behind them._`];
}

function nodesUnderWay(children: readonly ChildState[]): readonly string[] {
  if (children.length === 0) return [];
  const working = children.filter(({ holdsSlot }) => holdsSlot);
  const others = children.filter(({ holdsSlot }) => !holdsSlot);
  const shown = [...working, ...others].slice(0, ROWS);
  const more = children.length - shown.length;
  return [
    '',
    ...header('node', 'is', 'since'),
    ...shown.map((child) => row(child.node, doing(child), child.since)),
    ...(more > 0 ? [row('…', `and ${more} more`, '')] : []),
  ];
}

function doing({ stage, cancelling, adopting }: ChildState): string {
  if (cancelling !== undefined) return `being stopped (${cancelling.why})`;
  return adopting === true ? 'found running' : STAGE[stage];
}

function failedNodes({ failed }: RolloutProgress): readonly string[] {
  if (failed.length === 0) return [];
  return [
    '',
    ...header('failed', 'reason'),
    ...failed.slice(0, ROWS).map(({ node, reason }) => row(node, oneLine(reason))),
  ];
}

function header(...names: readonly string[]): readonly string[] {
  return [row(...names), `| ${names.map(() => ':---').join(' | ')} |`];
}

/** The UI leaves no room between cells, and trims all blanks but these. */
const GAP = '\u00A0\u00A0\u00A0';

function row(...cells: readonly string[]): string {
  return `| ${cells.join(`${GAP} | `)} |`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/\|/g, '\\|').slice(0, 200);
}
