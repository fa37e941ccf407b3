/** The live tree of a rollout: data in, lines out. Nothing here reads a clock or a cluster. */

import { formatDuration } from './durations';
import type { NodeGroup, NodeRow, RolloutSnapshot } from './snapshot';
import type { Style } from './terminal';
import { truncate } from './terminal';

/** Groups in the order of attention they want; the folded ones show names only. */
const GROUPS: readonly {
  readonly group: NodeGroup;
  readonly title: string;
  readonly folded: boolean;
}[] = [
  { group: 'Failed', title: 'Failed', folded: false },
  { group: 'Blocked', title: 'Blocked', folded: false },
  { group: 'Held', title: 'Held', folded: false },
  { group: 'GoingBack', title: 'Going back', folded: false },
  { group: 'Cordoning', title: 'Cordoning', folded: false },
  { group: 'Draining', title: 'Draining', folded: false },
  { group: 'Applying', title: 'Applying', folded: false },
  { group: 'Rebooting', title: 'Rebooting', folded: false },
  { group: 'Verifying', title: 'Verifying', folded: false },
  { group: 'Completing', title: 'Completing', folded: false },
  { group: 'Preparing', title: 'Preparing', folded: true },
  { group: 'WaitingForSlot', title: 'Prepared, waiting for a slot', folded: true },
  { group: 'Pending', title: 'Pending', folded: true },
  { group: 'Updated', title: 'Updated', folded: true },
];

const BAR_WIDTH = 24;
/** Rows of one open group before the rest is only counted. */
const ROWS_PER_GROUP = 20;

export interface TreeOptions {
  readonly style: Style;
  readonly width: number;
  readonly nowMs: number;
}

/** The tree, one line an entry, cut to the width. */
export function renderTree(snapshot: RolloutSnapshot, options: TreeOptions): readonly string[] {
  const shown = GROUPS.flatMap(({ group, title, folded }) => {
    const rows = snapshot.rows.filter((row) => row.group === group);
    return rows.length === 0 ? [] : [{ group, title, folded, rows }];
  });
  const lines = [...poolLines(snapshot, options)];
  shown.forEach(({ group, title, folded, rows }, index) => {
    const last = index === shown.length - 1;
    const head = `${last ? '└─' : '├─'} ${paintGroup(group, `${title} (${rows.length})`, options.style)}`;
    if (folded) {
      lines.push(`${head}  ${options.style.dim(foldNames(rows.map((row) => row.node)))}`);
      return;
    }
    lines.push(head, ...rowLines(rows, last ? '   ' : '│  ', options));
  });
  return lines.map((line) => truncate(line, options.width));
}

function poolLines(snapshot: RolloutSnapshot, { style, nowMs }: TreeOptions): readonly string[] {
  const { updated, machineCount } = snapshot;
  const share = machineCount === 0 ? 1 : updated / machineCount;
  const filled = Math.floor(share * BAR_WIDTH);
  const bar = style.green('█'.repeat(filled)) + style.dim('░'.repeat(BAR_WIDTH - filled));
  const times = [
    ...(snapshot.startedAt === undefined
      ? []
      : [`${formatDuration((nowMs - Date.parse(snapshot.startedAt)) / 1000)} elapsed`]),
    ...(snapshot.remainingSeconds === undefined
      ? []
      : [`about ${formatDuration(snapshot.remainingSeconds)} left`]),
  ];
  const facts = [
    `${updated}/${machineCount} updated`,
    `slots ${snapshot.slotsHeld}/${snapshot.maxUnavailable}`,
    ...times,
  ];
  const first = `${style.bold(snapshot.pool)}  ${bar}  ${paintState(snapshot.state, style)}  ${facts.join(' · ')}`;
  const config = `${style.dim(snapshot.config ?? 'no rendered config yet')}`;
  const blocker = snapshot.blocker === undefined ? [] : [style.yellow(snapshot.blocker)];
  return [first, config, ...blocker];
}

function rowLines(rows: readonly NodeRow[], indent: string, options: TreeOptions): string[] {
  const { style, nowMs } = options;
  const open = rows.slice(0, ROWS_PER_GROUP);
  const nameWidth = open.reduce((widest, row) => Math.max(widest, row.node.length), 0);
  const more = rows.length - open.length;
  const lines = open.map((row, index) => {
    const branch = index === open.length - 1 && more === 0 ? '└─' : '├─';
    const age =
      row.since === undefined ? '' : formatDuration((nowMs - Date.parse(row.since)) / 1000);
    const detail = row.detail === undefined ? '' : `  ${row.detail}`;
    return `${indent}${branch} ${row.node.padEnd(nameWidth)}  ${style.dim(age.padStart(6))}${detail}`;
  });
  return more === 0 ? lines : [...lines, `${indent}└─ ${style.dim(`and ${more} more`)}`];
}

function paintGroup(group: NodeGroup, text: string, style: Style): string {
  switch (group) {
    case 'Failed':
      return style.red(text);
    case 'Blocked':
    case 'Held':
    case 'GoingBack':
      return style.yellow(text);
    case 'Updated':
      return style.green(text);
    case 'Pending':
    case 'WaitingForSlot':
      return style.dim(text);
    case 'Preparing':
    case 'Cordoning':
    case 'Draining':
    case 'Applying':
    case 'Rebooting':
    case 'Verifying':
    case 'Completing':
      return style.cyan(text);
  }
}

function paintState(state: string, style: Style): string {
  if (state === 'Completed' || state === 'Updated') return style.green(state);
  if (state === 'Halted' || state === 'Degraded') return style.red(state);
  if (state === 'Rolling') return style.cyan(state);
  return style.yellow(state);
}

/**
 * Names on one line: runs of numbers behind a common prefix are folded, `worker-0…3 worker-7`.
 * The order is kept.
 */
export function foldNames(names: readonly string[]): string {
  const parts = names.map((name) => /^(.*?)(\d+)$/.exec(name));
  const folded: string[] = [];
  for (let start = 0; start < names.length;) {
    let end = start;
    while (end + 1 < names.length && follows(parts[end], parts[end + 1])) end += 1;
    const first = names[start] ?? '';
    const lastNumber = parts[end]?.[2] ?? '';
    folded.push(
      end - start >= 2 ? `${first}…${lastNumber}` : names.slice(start, end + 1).join(' '),
    );
    start = end + 1;
  }
  return folded.join(' ');
}

function follows(
  a: RegExpExecArray | null | undefined,
  b: RegExpExecArray | null | undefined,
): boolean {
  return a != null && b != null && a[1] === b[1] && Number(b[2]) === Number(a[2]) + 1;
}
