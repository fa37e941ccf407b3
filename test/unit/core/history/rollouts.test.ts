import {
  isRollout,
  historyOf,
  POOL_BOUNDS,
  type HistoryRecord,
  type PoolRecord,
} from '../../../../core/history/record';
import { afterStep, historyAfter, type Stepped } from '../../../../core/history/rollouts';
import { ANNOTATION } from '../../../../core/names';
import type { MachineConfigPool } from '../../../../core/pool/types';
import type { PoolRolloutStatus } from '../../../../core/rollout/pool-rollout';
import { grantOf } from '../rollout/rollout-pool';

const at = (minute: number): string => new Date(minute * 60_000).toISOString();
const ATTENTION = [{ node: 'w-3', reason: 'DrainTimeout: budget shop/cart' }];

function status(
  config: string | undefined,
  change: Partial<PoolRolloutStatus> = {},
): PoolRolloutStatus {
  return {
    ...(config === undefined ? {} : { config }),
    ...{ state: 'Rolling', done: '1/4', failed: [], held: [], grants: [] },
    counts: {
      ...{ machines: 4, updated: 1, outOfService: 0, mayBeOut: 2 },
      ...{ waiting: 0, failed: 0, held: 0, blocked: 0 },
    },
    ...change,
  };
}

const working = (config: string, change: Partial<PoolRolloutStatus> = {}) =>
  status(config, { grants: [grantOf('w-1')], ...change });

/** Steps one after the other, a minute each; each is taken twice, as by two workers. */
function after(...steps: readonly (PoolRolloutStatus | 'cancelled')[]): readonly HistoryRecord[] {
  let records: readonly HistoryRecord[] = [];
  let before: PoolRolloutStatus | undefined;
  steps.forEach((step, minute) => {
    const now = step === 'cancelled' ? (before ?? status('a')) : step;
    const end = step === 'cancelled' ? { ended: 'cancelled' as const } : {};
    const stepped: Stepped = {
      decision: { status: now, start: [], ...end },
      before,
      now: at(minute),
    };
    records = afterStep(records, stepped);
    expect(afterStep(records, { ...stepped, before: now, now: at(minute + 0.5) })).toBe(records);
    before = now;
  });
  return records;
}

const COMPLETED: Partial<PoolRolloutStatus> = { state: 'Completed' };
const counts = { machines: 4, updated: 1, failed: 0, held: 0 };

it.each<[string, readonly HistoryRecord[], readonly Partial<PoolRecord>[]]>([
  [
    'begins with the first update',
    after(status('a'), working('a')),
    [{ config: 'a', startedAt: at(1) }],
  ],
  ['does not begin without an update', after(status('a'), status('a', COMPLETED)), []],
  ['does not begin without a config', after(status(undefined)), []],
  [
    'ends when every node is on the config',
    after(working('a'), status('a', COMPLETED)),
    [{ config: 'a', startedAt: at(0), endedAt: at(1), outcome: 'Completed', counts }],
  ],
  [
    'is the same however often a node is brought to the config later',
    after(working('a'), status('a', COMPLETED), working('a'), status('a', COMPLETED)),
    [{ config: 'a', startedAt: at(0), endedAt: at(1), outcome: 'Completed', counts }],
  ],
  [
    'ends with another config, with what is known of its nodes, and the other is one of its own',
    after(working('a', { failed: ATTENTION }), working('b')),
    [
      { config: 'b', startedAt: at(1) },
      {
        ...{ config: 'a', startedAt: at(0), endedAt: at(1), outcome: 'Retargeted', counts },
        failed: ATTENTION,
      },
    ],
  ],
  [
    'ends with another config that no node needs an update for',
    after(working('a'), status('b', COMPLETED)),
    [{ config: 'a', startedAt: at(0), endedAt: at(1), outcome: 'Retargeted', counts }],
  ],
  [
    'is another one when the pool comes back to the config',
    after(working('a'), working('b'), working('a')),
    [
      { config: 'a', startedAt: at(2) },
      { config: 'b', startedAt: at(1), endedAt: at(2), outcome: 'Retargeted', counts },
      { config: 'a', startedAt: at(0), endedAt: at(1), outcome: 'Retargeted', counts },
    ],
  ],
  [
    'ends when a person has cancelled it, and is another one when it is started again',
    after(working('a'), 'cancelled', working('a')),
    [
      { config: 'a', startedAt: at(2) },
      { config: 'a', startedAt: at(0), endedAt: at(1), outcome: 'Cancelled', counts },
    ],
  ],
  [
    'keeps when it stood still and why',
    after(
      working('a'),
      working('a', { state: 'Paused', blocker: 'freeze (ada)' }),
      working('a'),
      working('a', { state: 'Halted', blocker: '2 nodes failed' }),
      working('a', COMPLETED),
    ),
    [
      {
        ...{ config: 'a', startedAt: at(0), endedAt: at(4), outcome: 'Completed', counts },
        stood: [
          { state: 'Halted', since: at(3), until: at(4), reason: '2 nodes failed' },
          { state: 'Paused', since: at(1), until: at(2), reason: 'freeze (ada)' },
        ],
      },
    ],
  ],
])('a rollout %s', (_what, records, expected) => {
  expect(records).toEqual(expected);
});

it('is completed, whatever comes next, when the write of its end was refused', () => {
  const records = after(working('a'));
  const before = status('a', COMPLETED);
  const decision = { status: working('b'), start: [] };

  expect(afterStep(records, { decision, before, now: at(9) })[1]).toMatchObject({
    config: 'a',
    outcome: 'Completed',
  });
});

describe('on the pool', () => {
  const aPool = (
    config: string,
    annotations: Readonly<Record<string, string>> = {},
  ): MachineConfigPool => ({
    metadata: { name: 'worker', annotations },
    spec: { configuration: { name: config } },
  });
  const stepped = (config: string, minute: number): Stepped => ({
    decision: { status: working(config), start: [] },
    before: undefined,
    now: at(minute),
  });

  it('is nothing written of a config that it has no more', () => {
    expect(historyAfter(aPool('b'), stepped('a', 0))).toBeUndefined();
  });

  it('are the last thirty rollouts in at most 16 KiB', () => {
    let pool = aPool('a');
    for (let i = 0; i < 60; i += 1) {
      const config = `rendered-worker-${String(i).padStart(32, '0')}`;
      const { annotations } =
        historyAfter(aPool(config, pool.metadata.annotations), stepped(config, i)) ?? {};
      pool = aPool(config, annotations);
    }
    const { records } = historyOf(pool);
    expect(records.filter(isRollout)).toHaveLength(30);
    expect(records[0]).toMatchObject({ startedAt: at(59) });
    expect(pool.metadata.annotations?.[ANNOTATION.HISTORY]?.length).toBeLessThan(POOL_BOUNDS.bytes);
  });
});
