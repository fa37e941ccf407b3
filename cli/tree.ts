/** The tree of a rollout as lines. Pure. */

import { fewLines } from '../core/few';
import { formatDuration } from './durations';
import type { NodeGroup, NodeRow } from './node-rows';
import type { RolloutSnapshot } from './snapshot';
import type { Style } from './terminal';
import { truncate } from './terminal';

/** The most urgent first; a folded group shows one line for all nodes with the same text. */
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
  { group: 'WaitingForGrant', title: 'Prepared, waiting for a grant', folded: true },
  { group: 'Pending', title: 'Pending', folded: true },
  { group: 'Updated', title: 'Updated', folded: true },
];

const BAR_WIDTH = 24;
/** Further rows are only counted. */
const ROWS_PER_GROUP = 20;
/** Further lines are only counted. */
const ROWS_PER_FOLDED_GROUP = 10;
/** For the names of one line in a folded group. */
const NAMES_WIDTH = 40;

interface TreeOptions {
  readonly style: Style;
  readonly width: number;
  readonly nowMs: number;
}

export function renderTree(snapshot: RolloutSnapshot, options: TreeOptions): readonly string[] {
  const shown = GROUPS.flatMap(({ group, title, folded }) => {
    const rows = snapshot.rows.filter((row) => row.group === group);
    return rows.length === 0 ? [] : [{ group, title, folded, rows }];
  });
  const lines = [...poolLines(snapshot, options)];
  shown.forEach(({ group, title, folded, rows }, index) => {
    const last = index === shown.length - 1;
    const head = `${last ? '└─' : '├─'} ${paintGroup(group, `${title} (${rows.length})`, options.style)}`;
    const indent = last ? '   ' : '│  ';
    if (!folded) {
      lines.push(head, ...rowLines(rows.map(lineOf), ROWS_PER_GROUP, indent, options));
      return;
    }
    const sayings = foldedLines(rows);
    const [first] = sayings;
    if (first !== undefined && sayings.length === 1) {
      const says = first.detail === undefined ? [] : [first.detail];
      lines.push(`${head}  ${options.style.dim([first.names, ...says].join(' · '))}`);
      return;
    }
    lines.push(head, ...rowLines(sayings, ROWS_PER_FOLDED_GROUP, indent, options));
  });
  return lines.map((line) => truncate(line, options.width));
}

function poolLines(snapshot: RolloutSnapshot, { style, nowMs }: TreeOptions): readonly string[] {
  const { updated, machineCount } = snapshot;
  const share = machineCount === 0 ? 1 : updated / machineCount;
  const filled = Math.floor(share * BAR_WIDTH);
  const bar = style.green('█'.repeat(filled)) + style.dim('░'.repeat(BAR_WIDTH - filled));
  const { startedAt } = snapshot;
  const facts = [
    `${updated}/${machineCount} updated`,
    `out of service ${snapshot.outOfService}/${snapshot.maxUnavailable}`,
    ...(startedAt === undefined
      ? []
      : [`${formatDuration((nowMs - Date.parse(startedAt)) / 1000)} elapsed`]),
  ];
  const first = `${style.bold(snapshot.pool)}  ${bar}  ${paintState(snapshot.state, style)}  ${facts.join(' · ')}`;
  const config = style.dim(
    [snapshot.config ?? 'no rendered config yet', ...simulatedHosts(snapshot)].join(' · '),
  );
  const blocker = snapshot.blocker === undefined ? [] : [style.yellow(snapshot.blocker)];
  return [first, config, ...blocker];
}

/** Simulated hosts must not be mistaken for machines. */
export function simulatedHosts(pool: {
  readonly machineCount: number;
  readonly simulatedCount: number;
}): readonly string[] {
  const { machineCount, simulatedCount } = pool;
  if (simulatedCount === 0) return [];
  const all = simulatedCount === machineCount;
  return [all ? 'all hosts simulated' : `${simulatedCount} of ${machineCount} hosts simulated`];
}

/** A node, or several with the same text. */
interface Line {
  readonly names: string;
  readonly count: number;
  readonly since?: string;
  readonly detail?: string;
}

function lineOf({ node, since, detail }: NodeRow): Line {
  return {
    names: node,
    count: 1,
    ...(since === undefined ? {} : { since }),
    ...(detail === undefined ? {} : { detail }),
  };
}

/** In the order of the nodes; without text last. */
function foldedLines(rows: readonly NodeRow[]): readonly Line[] {
  const bySaying = new Map<string | undefined, NodeRow[]>();
  for (const row of rows) {
    const same = bySaying.get(row.detail);
    if (same === undefined) bySaying.set(row.detail, [row]);
    else same.push(row);
  }
  const lines = [...bySaying].map(([detail, same]): Line => {
    const [only, ...others] = same;
    if (only !== undefined && others.length === 0) return lineOf(only);
    const says = detail === undefined ? {} : { detail };
    return { names: shortNames(same), count: same.length, ...says };
  });
  return [
    ...lines.filter(({ detail }) => detail !== undefined),
    ...lines.filter(({ detail }) => detail === undefined),
  ];
}

/** A long list of names is cut. */
function shortNames(rows: readonly NodeRow[]): string {
  const names = foldNames(rows.map(({ node }) => node));
  return names.length <= NAMES_WIDTH
    ? names
    : `${truncate(names, NAMES_WIDTH - 6)} (${rows.length})`;
}

function rowLines(
  lines: readonly Line[],
  most: number,
  indent: string,
  { style, nowMs }: TreeOptions,
): string[] {
  const open = lines.slice(0, most);
  const nameWidth = open.reduce((widest, { names }) => Math.max(widest, names.length), 0);
  const more = lines.slice(most).reduce((sum, { count }) => sum + count, 0);
  const texts = open.map(({ names, since, detail }) => {
    const age = since === undefined ? '' : formatDuration((nowMs - Date.parse(since)) / 1000);
    const says = detail === undefined ? '' : `  ${detail}`;
    return `${names.padEnd(nameWidth)}  ${style.dim(age.padStart(6))}${says}`;
  });
  const shown = fewLines(texts, { most, total: texts.length + more });
  return shown.map((text, i) => `${indent}${i === shown.length - 1 ? '└─' : '├─'} ${text}`);
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
    case 'WaitingForGrant':
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

/** Runs of numbers behind a common prefix are folded: `worker-0…3 worker-7`. Keeps the order. */
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
