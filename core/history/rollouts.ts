/** The history of a pool. */

import { cut } from '../encoding/one-line';
import type { Decision } from '../rollout/decide';
import type { PoolRolloutStatus } from '../rollout/pool-rollout';
import { RolloutState } from '../rollout/progress';
import type { MachineConfigPool } from '../pool/types';
import {
  historyWith,
  isRollout,
  POOL_BOUNDS,
  REASON_AT_MOST,
  type HistoryRecord,
  type PoolRecord,
  type Standstill,
} from './record';

const NAMED = 5;
const STOOD = 5;

export interface Stepped {
  readonly decision: Pick<Decision, 'status' | 'start' | 'ended'>;
  /** As the step read it: it knows how a config stood that the pool has no more. */
  readonly before: PoolRolloutStatus | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/**
 * The annotations to write on the pool after a step; undefined = its history is as it should be, or the pool has another
 * config by now.
 */
export function historyAfter(
  pool: MachineConfigPool,
  stepped: Stepped,
): { readonly annotations: Readonly<Record<string, string>> } | undefined {
  if (pool.spec.configuration?.name !== stepped.decision.status.config) return undefined;
  const annotations = historyWith(pool, POOL_BOUNDS, (records) => afterStep(records, stepped));
  return Object.keys(annotations).length === 0 ? undefined : { annotations };
}

/**
 * The records after a step. A rollout begins with the first update to another config, and ends when every node is on it,
 * when a person has cancelled it, or when the pool gets another config. What is done later on the same config is only in
 * the history of its nodes.
 */
export function afterStep(
  records: readonly HistoryRecord[],
  { decision, before, now }: Stepped,
): readonly HistoryRecord[] {
  const { status, start } = decision;
  const { config } = status;
  if (config === undefined) return records;
  const last = records.find(isRollout);
  const isOpen = last !== undefined && last.endedAt === undefined;
  const outcome = outcomeOf(decision);
  if (isOpen && last.config === config) {
    const next =
      outcome === undefined ? stands(last, status, now) : ended(last, outcome, status, now);
    return replaced(records, last, next);
  }
  const known = before?.config === last?.config ? before : undefined;
  // The write of its end was refused.
  const end = known?.state === RolloutState.COMPLETED ? 'Completed' : 'Retargeted';
  const others = isOpen ? replaced(records, last, ended(last, end, known, now)) : records;
  const isDone = last?.config === config && last.outcome === 'Completed';
  const isBegun = start.length + status.grants.length > 0;
  if (outcome !== undefined || isDone || !isBegun) return others;
  return [stands({ config, startedAt: now }, status, now), ...others];
}

function outcomeOf({ status, ended: end }: Stepped['decision']): PoolRecord['outcome'] {
  if (status.state === RolloutState.COMPLETED) return 'Completed';
  return end === 'cancelled' ? 'Cancelled' : undefined;
}

function replaced(
  records: readonly HistoryRecord[],
  old: PoolRecord,
  next: PoolRecord,
): readonly HistoryRecord[] {
  return old === next ? records : records.map((record) => (record === old ? next : record));
}

function ended(
  record: PoolRecord,
  outcome: NonNullable<PoolRecord['outcome']>,
  status: PoolRolloutStatus | undefined,
  now: string,
): PoolRecord {
  const { stood, ...begun } = record;
  const end = { ...begun, endedAt: now, outcome, ...(stood && { stood: goesOn(stood, now) }) };
  if (status === undefined) return end;
  const { machines, updated, failed, held } = status.counts;
  return {
    ...{ ...end, counts: { machines, updated, failed, held } },
    ...(status.failed.length === 0 ? {} : { failed: status.failed.slice(0, NAMED) }),
    ...(status.held.length === 0 ? {} : { held: status.held.slice(0, NAMED) }),
  };
}

/** Notes that no node may begin any more, or that they may again. */
function stands(
  record: PoolRecord,
  { state, blocker }: PoolRolloutStatus,
  now: string,
): PoolRecord {
  const { stood = [] } = record;
  const [last] = stood;
  const current = last?.until === undefined ? last?.state : undefined;
  const next = state === RolloutState.PAUSED || state === RolloutState.HALTED ? state : undefined;
  if (current === next) return record;
  const before = goesOn(stood, now);
  if (next === undefined) return { ...record, stood: before };
  const reason = blocker === undefined ? {} : { reason: cut(blocker, REASON_AT_MOST) };
  return { ...record, stood: [{ state: next, since: now, ...reason }, ...before].slice(0, STOOD) };
}

function goesOn([last, ...earlier]: readonly Standstill[], now: string): readonly Standstill[] {
  if (last === undefined) return [];
  return [last.until === undefined ? { ...last, until: now } : last, ...earlier];
}
