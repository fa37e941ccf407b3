/** What `rollout history` and `node history` say, newest first. With `-o json` this is what is printed. */

import { ANNOTATION } from '../../core/names';
import { annotationOf, currentConfigOf, desiredConfigOf } from '../../core/node/predicates';
import { lastRunOf } from '../../core/node/turn';
import type { Node } from '../../core/node/types';
import { nodesOfPool } from '../../core/pool';
import type { MachineConfigPool } from '../../core/pool/types';
import {
  historyOf,
  isRollout,
  isUpdate,
  isWord,
  type PoolRecord,
  type UpdateRecord,
  type WordRecord,
} from '../../core/history/record';
import type { RolloutState } from '../../core/rollout';
import type { PoolRolloutStatus } from '../../core/rollout/pool-rollout';
import type { ClusterView } from '../ports';

/** Times are RFC 3339. */
export interface UpdateItem extends Omit<UpdateRecord, 'outcome'> {
  readonly kind: 'update';
  readonly node: string;
  /** `running`: the node is marked by it. */
  readonly outcome: UpdateRecord['outcome'] | 'running';
}

export interface WordItem extends WordRecord {
  readonly kind: 'word';
  readonly pool?: string;
  /** About this node. */
  readonly node?: string;
}

export interface RolloutItem extends Omit<PoolRecord, 'outcome'> {
  readonly kind: 'rollout';
  readonly pool: string;
  /** The state of one that goes on. */
  readonly outcome: NonNullable<PoolRecord['outcome']> | RolloutState;
  /** Updates of it that failed or were lost, as the nodes of the pool remember them. */
  readonly failures: readonly Pick<
    UpdateItem,
    'node' | 'startedAt' | 'outcome' | 'phase' | 'reason'
  >[];
}

export type HistoryItem = UpdateItem | WordItem | RolloutItem;

export interface FoundHistory<Item extends HistoryItem> {
  readonly items: readonly Item[];
  /** A sentence for each object whose history is not readable. */
  readonly unreadable: readonly string[];
}

export function nodeItems(node: Node): FoundHistory<UpdateItem | WordItem> {
  const { name } = node.metadata;
  const { records, unreadable } = historyOf(node);
  const items = records.flatMap((record): readonly (UpdateItem | WordItem)[] => {
    if (isWord(record)) return [{ kind: 'word', node: name, ...record }];
    return isUpdate(record) ? [{ kind: 'update', node: name, ...record }] : [];
  });
  return {
    items: newestFirst([...runningOn(node), ...items]),
    unreadable: unreadable === undefined ? [] : [unreadableSentence('node', name, unreadable)],
  };
}

function runningOn(node: Node): readonly UpdateItem[] {
  const last = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
  if (last === undefined || last.isOver) return [];
  const { id: run, startedAt } = last;
  const [config = '', from] = [desiredConfigOf(node), currentConfigOf(node)];
  const was = from === undefined || from === config ? {} : { from };
  const what = { node: node.metadata.name, run, config, ...was, startedAt };
  return [{ kind: 'update', ...what, outcome: 'running' }];
}

export function poolItems(
  pool: MachineConfigPool,
  { nodes, pools, poolRollouts }: ClusterView,
): FoundHistory<RolloutItem | WordItem> {
  const { name } = pool.metadata;
  const { records, unreadable } = historyOf(pool);
  const status = poolRollouts.get(name)?.status;
  const ofNodes = nodesOfPool(pool, nodes, pools).map(nodeItems);
  const seen = ofNodes.flatMap(({ items }) => items);
  const updates = seen.filter((item) => item.kind === 'update');
  return {
    items: newestFirst([
      ...records
        .filter(isRollout)
        .map((record): RolloutItem => rolloutItem(name, record, status, updates)),
      ...records.filter(isWord).map((word): WordItem => ({ kind: 'word', pool: name, ...word })),
      ...seen
        .filter((item) => item.kind === 'word')
        .map((word): WordItem => ({ ...word, pool: name })),
    ]),
    unreadable: [
      ...(unreadable === undefined ? [] : [unreadableSentence('mcp', name, unreadable)]),
      ...ofNodes.flatMap((found) => found.unreadable),
    ],
  };
}

/** One that goes on is as the PoolRollout shows it. */
function rolloutItem(
  pool: string,
  record: PoolRecord,
  status: PoolRolloutStatus | undefined,
  updates: readonly UpdateItem[],
): RolloutItem {
  const now = record.endedAt === undefined && status?.config === record.config ? status : undefined;
  const { outcome = now?.state ?? 'Rolling' } = record;
  const failures = updates.filter(
    (update) =>
      ['failed', 'lost'].includes(update.outcome) &&
      update.config === record.config &&
      isWithin(update.startedAt, record),
  );
  return {
    ...{ kind: 'rollout', pool, ...record },
    ...(now === undefined ? {} : standingNow(now)),
    ...{ outcome, failures: failures.map(failureOf) },
  };
}

function standingNow({ counts, failed, held }: PoolRolloutStatus) {
  const { machines, updated } = counts;
  return { counts: { machines, updated, failed: counts.failed, held: counts.held }, failed, held };
}

function failureOf({ node, startedAt, outcome, phase, reason }: UpdateItem) {
  return {
    ...{ node, startedAt, outcome },
    ...(phase === undefined ? {} : { phase }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** An update may be started a moment before its rollout is recorded. */
function isWithin(instant: string, { startedAt, endedAt }: PoolRecord): boolean {
  const at = Date.parse(instant);
  const isBegun = at >= Date.parse(startedAt) - 60_000;
  return isBegun && (endedAt === undefined || at <= Date.parse(endedAt));
}

function newestFirst<Item extends HistoryItem>(items: readonly Item[]): readonly Item[] {
  return [...items].sort((a, b) => timeOf(b) - timeOf(a));
}

/** When it ended; what goes on comes first. */
function timeOf(item: HistoryItem): number {
  if (item.kind === 'word') return Date.parse(item.at);
  if (item.endedAt !== undefined) return Date.parse(item.endedAt);
  return item.outcome === 'lost' ? Date.parse(item.startedAt) : Infinity;
}

function unreadableSentence(kind: 'node' | 'mcp', name: string, why: string): string {
  return (
    `the history of ${kind} ${name} is not readable: ${why}; mend its annotation ${ANNOTATION.HISTORY}: ` +
    `kubectl edit ${kind} ${name} (the next record moves it to ${ANNOTATION.HISTORY_UNREADABLE})`
  );
}
