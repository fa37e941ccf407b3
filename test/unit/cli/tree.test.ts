import { foldNames, renderTree } from '../../../cli/tree';
import type { NodeRow } from '../../../cli/node-rows';
import type { RolloutSnapshot } from '../../../cli/snapshot';
import { makeStyle, truncate, visibleLength } from '../../../cli/terminal';

const NOW = Date.parse('2026-03-01T12:01:30Z');

function aSnapshot(change: Partial<RolloutSnapshot> = {}): RolloutSnapshot {
  return {
    pool: 'worker',
    config: 'rendered-worker-0123',
    state: 'Rolling',
    machineCount: 12,
    simulatedCount: 0,
    updated: 3,
    maxUnavailable: 2,
    outOfService: 2,
    startedAt: '2026-03-01T12:00:00Z',
    rows: [],
    ...change,
  };
}

function rows(group: NodeRow['group'], ...nodes: string[]): NodeRow[] {
  return nodes.map((node) => ({ node, group }));
}

function render(snapshot: RolloutSnapshot, width = 0): readonly string[] {
  return renderTree(snapshot, { style: makeStyle(false), width, nowMs: NOW });
}

describe('the tree of a rollout', () => {
  it('opens with the pool, its progress and its time', () => {
    const [first, second] = render(aSnapshot());

    expect(first).toBe(
      'worker  ██████░░░░░░░░░░░░░░░░░░  Rolling  3/12 updated · out of service 2/2 · 1m30s elapsed',
    );
    expect(second).toBe('rendered-worker-0123');
  });

  it('says which hosts are no machines', () => {
    const second = (simulatedCount: number) => render(aSnapshot({ simulatedCount }))[1];

    expect(second(12)).toBe('rendered-worker-0123 · all hosts simulated');
    expect(second(3)).toBe('rendered-worker-0123 · 3 of 12 hosts simulated');
  });

  it('says on one line what all waiting nodes wait for', () => {
    const waiting = (detail: string, ...nodes: string[]): NodeRow[] =>
      rows('WaitingForGrant', ...nodes).map((row) => ({ ...row, detail }));
    const line = (list: readonly NodeRow[]) => render(aSnapshot({ rows: list })).at(-1);

    expect(line(waiting('waiting for the canary', 'w-1', 'w-2'))).toBe(
      '└─ Prepared, waiting for a grant (2)  w-1 w-2 · waiting for the canary',
    );
  });

  it('says of each waiting node what it waits for when that differs', () => {
    const lines = render(
      aSnapshot({
        rows: [
          { node: 'w-1', group: 'WaitingForGrant', detail: 'waiting for the canary' },
          { node: 'w-2', group: 'WaitingForGrant', detail: 'waiting for the canary' },
          { node: 'w-3', group: 'WaitingForGrant', detail: 'waiting for the canary' },
          { node: 'w-4', group: 'WaitingForGrant' },
          {
            node: 'w-5',
            group: 'WaitingForGrant',
            since: '2026-03-01T12:01:00Z',
            detail: 'zone b has another node under way',
          },
          ...rows('Updated', 'w-0'),
        ],
      }),
    );

    expect(lines.slice(2)).toEqual([
      '├─ Prepared, waiting for a grant (5)',
      '│  ├─ w-1…3          waiting for the canary',
      '│  ├─ w-5       30s  zone b has another node under way',
      '│  └─ w-4          ',
      '└─ Updated (1)  w-0',
    ]);
  });

  it('shows how far each pull is, and counts those that have no place', () => {
    const pulls = Array.from({ length: 14 }, (_, index) => ({
      node: `w-${index}`,
      group: 'Preparing' as const,
      detail: `pulling os: ${index} MB`,
    }));

    const lines = render(aSnapshot({ rows: pulls }));

    expect(lines).toHaveLength(2 + 1 + 10 + 1);
    expect(lines[3]).toContain('w-0          pulling os: 0 MB');
    expect(lines[12]).toContain('pulling os: 9 MB');
    expect(lines.at(-1)).toBe('   └─ and 4 more');
  });

  it('keeps the reason in sight when many nodes with unlike names share it', () => {
    const many = Array.from({ length: 30 }, (_, index) => `host-${index}-in-a-rack`);
    const lines = render(
      aSnapshot({
        rows: [
          ...rows('Preparing', ...many).map((row) => ({ ...row, detail: 'pulling os' })),
          { node: 'other', group: 'Preparing', detail: 'its host worker is away' },
        ],
      }),
      80,
    );

    expect(lines[3]).toMatch(/host-0-in-a-rack.*… \(30\) +pulling os$/);
  });

  it('names the blocker of each waiting node and folds the healthy ones', () => {
    const lines = render(
      aSnapshot({
        rows: [
          ...rows('Updated', 'w-0', 'w-1', 'w-2'),
          {
            node: 'w-3',
            group: 'Draining',
            since: '2026-03-01T12:01:00Z',
            detail: 'waiting for pod shop/cart-7f (budget shop/cart allows 0 disruptions)',
          },
          ...rows('Pending', 'w-4', 'w-5'),
        ],
      }),
    );

    expect(lines.slice(2)).toEqual([
      '├─ Draining (1)',
      '│  └─ w-3     30s  waiting for pod shop/cart-7f (budget shop/cart allows 0 disruptions)',
      '├─ Pending (2)  w-4 w-5',
      '└─ Updated (3)  w-0…2',
    ]);
  });

  it('puts what needs a person first', () => {
    const lines = render(
      aSnapshot({
        rows: [...rows('Updated', 'a'), ...rows('Rebooting', 'b'), ...rows('Failed', 'c')],
      }),
    );

    expect(lines.filter((line) => /^[├└]/.test(line)).map((line) => line.slice(3))).toEqual([
      'Failed (1)',
      'Rebooting (1)',
      'Updated (1)  a',
    ]);
  });

  it('counts what does not fit into a group', () => {
    const many = Array.from({ length: 25 }, (_, index) => `n${index}x`);

    const lines = render(aSnapshot({ rows: rows('Rebooting', ...many) }));

    expect(lines.at(-1)).toContain('and 5 more');
    expect(lines).toHaveLength(2 + 1 + 20 + 1);
  });

  it('cuts lines to the terminal', () => {
    const lines = render(aSnapshot({ blocker: 'x'.repeat(200) }), 40);

    expect(lines.every((line) => visibleLength(line) <= 40)).toBe(true);
    expect(lines[2]).toBe(`${'x'.repeat(39)}…`);
  });

  it('shows an empty pool as complete', () => {
    const [first] = render(aSnapshot({ machineCount: 0, updated: 0, state: 'Completed' }));

    expect(first).toContain('█'.repeat(24));
  });
});

describe('foldNames', () => {
  it.each([
    [['w-1', 'w-2', 'w-3', 'w-7'], 'w-1…3 w-7'],
    [['w-1', 'w-2'], 'w-1 w-2'],
    [['a', 'b'], 'a b'],
    [['w-9', 'w-10', 'w-11'], 'w-9…11'],
    [['w-3', 'w-2', 'w-1'], 'w-3 w-2 w-1'],
    [[], ''],
  ])('%j is %s', (names, folded) => {
    expect(foldNames(names)).toBe(folded);
  });
});

describe('truncate', () => {
  it('counts no colours and ends them at the cut', () => {
    const red = makeStyle(true).red('abcdef');

    expect(truncate(red, 4)).toBe('\u001B[31mabc…\u001B[0m');
    expect(visibleLength(truncate(red, 4))).toBe(4);
    expect(truncate(red, 6)).toBe(red);
  });
});
