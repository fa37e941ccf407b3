/** History as a table for people: what is said of an entry stands under it, in the last column. */

import { fewLines } from '../../core/few';
import type { Standstill } from '../../core/history/record';
import { formatAge, formatDuration } from '../durations';
import type { Column } from '../table';
import type { Style } from '../terminal';
import type { HistoryItem, RolloutItem, UpdateItem, WordItem } from './items';

interface Cells {
  readonly pool: string;
  readonly what: string;
  readonly when: string;
  readonly took: string;
  readonly nodes: string;
  readonly started: string;
  readonly ended: string;
  readonly run: string;
}

export type Row = Partial<Cells> & { readonly detail: string };

export const COLUMNS: Readonly<Record<'node' | 'pool', readonly Column<Row>[]>> = {
  node: columnsOf(['what', 'when', 'took'], ['started', 'ended', 'run']),
  pool: columnsOf(['pool', 'what', 'when', 'took', 'nodes'], ['started', 'ended']),
};

function columnsOf(
  narrow: readonly (keyof Cells)[],
  wide: readonly (keyof Cells)[],
): readonly Column<Row>[] {
  const column = (key: keyof Row) => ({
    header: key.toUpperCase(),
    value: (row: Row) => row[key] ?? '',
  });
  return [
    ...narrow.map(column),
    ...wide.map((key) => ({ ...column(key), wide: true })),
    column('detail'),
  ];
}

interface Look {
  readonly style: Style;
  readonly nowMs: number;
}

export function rowsOf(item: HistoryItem, look: Look): readonly Row[] {
  switch (item.kind) {
    case 'word':
      return [wordRow(item, look)];
    case 'update':
      return updateRows(item, look);
    case 'rollout':
      return rolloutRows(item, look);
  }
}

function wordRow({ at, word, by, reason, node, pool = '' }: WordItem, { nowMs }: Look): Row {
  const about = pool === '' || node === undefined ? [] : [node];
  const who = by === undefined ? [] : [`by ${by}`];
  const said = [...about, ...who].join(' ');
  const detail = [said, reason].filter((part) => part !== undefined && part !== '').join(': ');
  return { pool, what: word, when: `${formatAge(at, nowMs)} ago`, ended: at, detail };
}

function updateRows(item: UpdateItem, look: Look): readonly Row[] {
  const { config, from, phase, reason, seconds = {}, outcome, run, stuck, takesBack } = item;
  const phases = Object.entries(seconds)
    .filter(([, took]) => took >= 0.5)
    .map(([name, took]) => `${name} ${formatDuration(took)}`);
  const where = phase === undefined ? '' : `in ${phase}: `;
  return [
    { ...timesOf(item, look), what: painted(outcome, look), run, detail: config },
    ...[
      ...(from === undefined ? [] : [`from ${from}`]),
      ...(takesBack === true ? ['taken back to what it was on'] : []),
      ...(reason === undefined ? [] : [`${where}${reason}`]),
      ...(stuck === true ? ['left out of service'] : []),
      ...(phases.length === 0 ? [] : [phases.join(', ')]),
    ].map((detail) => ({ detail })),
  ];
}

const LINES = { most: 5 };

function rolloutRows(item: RolloutItem, look: Look): readonly Row[] {
  const { pool, config, outcome, counts, failures, failed = [], held = [], stood = [] } = item;
  const known = new Set(failures.map(({ node }) => node));
  const failing = [
    ...failures.map(failureLine),
    ...failed
      .filter(({ node }) => !known.has(node))
      .map((one) => `${one.node} failed: ${one.reason}`),
  ];
  const nodes = counts === undefined ? '' : `${counts.updated}/${counts.machines}`;
  return [
    { pool, ...timesOf(item, look), what: painted(outcome, look), nodes, detail: config },
    ...[
      ...stood.map((one) => standstillLine(one, item, look.nowMs)),
      ...fewLines(failing, LINES),
      ...fewLines(
        held.map(({ node, reason }) => `${node} was left out: ${reason}`),
        LINES,
      ),
    ].map((detail) => ({ detail })),
  ];
}

function failureLine({
  node,
  outcome,
  phase,
  reason = '',
}: RolloutItem['failures'][number]): string {
  if (outcome === 'lost') return `${node}: an update was lost`;
  return `${node} failed${phase === undefined ? '' : ` in ${phase}`}: ${reason}`;
}

function standstillLine(
  { state, since, until, reason }: Standstill,
  { endedAt }: RolloutItem,
  nowMs: number,
): string {
  const end = until ?? endedAt;
  const took = formatAge(since, end === undefined ? nowMs : Date.parse(end));
  return `${state} for ${took}${reason === undefined ? '' : `: ${reason}`}`;
}

/** Of what nobody has seen end, nobody knows how long it took. */
function timesOf(
  { startedAt, endedAt, outcome }: UpdateItem | RolloutItem,
  { nowMs }: Look,
): Pick<Cells, 'when' | 'took' | 'started' | 'ended'> {
  const isLost = outcome === 'lost';
  const took = formatAge(startedAt, endedAt === undefined ? nowMs : Date.parse(endedAt));
  const when = endedAt ?? (isLost ? startedAt : undefined);
  return {
    when: when === undefined ? 'now' : `${formatAge(when, nowMs)} ago`,
    took: isLost && endedAt === undefined ? '' : took,
    ...{ started: startedAt, ended: endedAt ?? '' },
  };
}

const GOOD = ['updated', 'Completed'];
const BAD = ['failed', 'lost', 'Halted'];

function painted(outcome: string, { style }: Look): string {
  if (GOOD.includes(outcome)) return style.green(outcome);
  return BAD.includes(outcome) ? style.red(outcome) : outcome;
}
