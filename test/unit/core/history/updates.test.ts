import { historyOf } from '../../../../core/history/record';
import { secondsByPhase, withHistory, type UpdateEnd } from '../../../../core/history/updates';
import { withPerson, withWord } from '../../../../core/history/words';
import { NODE_BOUNDS, type UpdateRecord } from '../../../../core/history/record';
import { ANNOTATION } from '../../../../core/names';
import { markOf, overMarkOf } from '../../../../core/node/turn';
import type { Node } from '../../../../core/node/types';

const OLD = `rendered-worker-${'a'.repeat(32)}`;
const NEW = `rendered-worker-${'b'.repeat(32)}`;
const NOW = '2029-06-01T01:00:00Z';

function run(number: number) {
  const id = `019353c2-6a1f-7f6b-9a52-${String(number).padStart(12, '0')}`;
  return { id, startedAt: '2029-06-01T00:00:01.123Z' };
}

function aNode(annotations: Readonly<Record<string, string>> = {}): Node {
  return {
    metadata: { name: 'n', annotations: { [ANNOTATION.CURRENT_CONFIG]: OLD, ...annotations } },
  };
}

function applied(node: Node, written: Readonly<Record<string, string>>): Node {
  const { annotations } = node.metadata;
  return { metadata: { ...node.metadata, annotations: { ...annotations, ...written } } };
}

const taken = (number: number) => ({ [ANNOTATION.UPDATE_RUN]: markOf(run(number)) });
const update = (number: number) => ({ run: run(number), config: NEW });
const recordsOf = (node: Node) => historyOf(node).records;
const UPDATED: UpdateEnd = { outcome: 'updated', now: NOW };

describe('the end of an update', () => {
  it('is kept with what it was told, newest first', () => {
    const seconds = { Preparing: 3, Draining: 12.5 };
    const first = applied(
      aNode(taken(1)),
      withHistory(aNode(taken(1)), { ...update(1), seconds }, UPDATED),
    );
    const failed = {
      outcome: 'failed',
      reason: 'DrainTimeout: no',
      isStuck: true,
      now: NOW,
    } as const;
    const both = applied(first, withHistory(first, { ...update(2), phase: 'Draining' }, failed));

    const common = { config: NEW, from: OLD, startedAt: run(1).startedAt, endedAt: NOW };
    expect(recordsOf(both).filter((one) => 'outcome' in one && one.outcome !== 'lost')).toEqual([
      {
        ...{ ...common, run: run(2).id, outcome: 'failed', phase: 'Draining' },
        ...{ reason: 'DrainTimeout: no', stuck: true },
      },
      { ...common, run: run(1).id, outcome: 'updated', seconds },
    ]);
  });

  it('is kept once, also when the step is repeated later', () => {
    const node = aNode(taken(1));
    const after = applied(node, withHistory(node, update(1), UPDATED));

    expect(withHistory(after, update(1), { ...UPDATED, now: '2029-06-01T02:00:00Z' })).toEqual({});
  });

  it.each<[string, Readonly<Record<string, string>>, UpdateEnd['outcome'], readonly string[]]>([
    ['is kept when it was cancelled', taken(1), 'cancelled', ['cancelled']],
    ['is not kept when it was cancelled before it took the node', {}, 'cancelled', []],
    ['is kept when it failed before it took the node', {}, 'failed', ['failed']],
    ['is kept beside one that was lost', taken(2), 'failed', ['failed', 'lost']],
    [
      'is kept alone after one that is over',
      { [ANNOTATION.UPDATE_RUN]: overMarkOf(run(2)) },
      'failed',
      ['failed'],
    ],
  ])('%s', (_what, annotations, outcome, kept) => {
    const node = aNode(annotations);
    const after = applied(node, withHistory(node, update(1), { outcome, now: NOW }));

    expect(recordsOf(after).map((one) => (one as UpdateRecord).outcome)).toEqual(kept);
  });

  it('that nobody has said is kept when the next update takes the node, or when it is closed', () => {
    const lost = { ...taken(1), [ANNOTATION.DESIRED_CONFIG]: NEW };
    const record = { run: run(1).id, config: NEW, startedAt: run(1).startedAt, outcome: 'lost' };

    expect(recordsOf(applied(aNode(), withHistory(aNode(lost), update(2))))).toEqual([record]);
    expect(recordsOf(applied(aNode(), withHistory(aNode(lost))))).toEqual([record]);
    expect(withHistory(aNode(lost), update(1))).toEqual({});
  });
});

it('takes at most 4 KiB, ten updates and ten words; the newest stay', () => {
  let node = aNode();
  const reason = 'DrainTimeout: '.padEnd(3_000, 'x');
  for (let i = 0; i < 30; i += 1) {
    node = applied(node, withHistory(node, update(i), { outcome: 'failed', reason, now: NOW }));
    const word = { kind: 'retryNode', by: 'ada', reason: 'again' } as const;
    const at = new Date(i * 1000).toISOString();
    node = applied(
      node,
      withWord(node, NODE_BOUNDS, { word, at }, { annotations: {} })?.annotations ?? {},
    );
    const text = node.metadata.annotations?.[ANNOTATION.HISTORY] ?? '';
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4 * 1024);
  }
  const records = recordsOf(node);
  expect(records.filter((one) => 'word' in one).length).toBeLessThanOrEqual(10);
  expect(records[1]).toMatchObject({ run: run(29).id });
  expect((records[1] as UpdateRecord).reason).toHaveLength(200);
});

describe('a word', () => {
  const said = (kind: 'skipNode' | 'pause') => ({
    word: { kind, by: 'ada', reason: 'disk' },
    at: NOW,
  });

  it('stands beside what it changes, once', () => {
    const change = withWord(aNode(), NODE_BOUNDS, said('skipNode'), { annotations: { held: 'b' } });
    const after = applied(aNode(), change?.annotations ?? {});

    expect(change?.annotations).toMatchObject({ held: 'b' });
    expect(recordsOf(after)).toEqual([{ at: NOW, word: 'skip', by: 'ada', reason: 'disk' }]);
    expect(withWord(after, NODE_BOUNDS, said('skipNode'), { annotations: {} })).toEqual({
      annotations: {},
    });
  });

  it('that changes nothing is not kept', () => {
    expect(withWord(aNode(), NODE_BOUNDS, said('pause'), undefined)).toBeUndefined();
  });

  it('names its person where one is known', () => {
    expect(withPerson({ reason: 'disk', by: 'ada' })).toBe('disk (ada)');
    expect(withPerson({ reason: 'disk' })).toBe('disk');
  });
});

describe.each([
  ['no JSON', 'it is no JSON'],
  ['{"run":"x"}', 'it is no list of records'],
  ['[{"word":"skip"}]', 'it is no list of records'],
  ['[{"run":1,"config":"a","startedAt":"b","outcome":"c"}]', 'it is no list of records'],
  ['[null]', 'it is no list of records'],
  [`[{"word":"skip","at":"${NOW}","reason":5}]`, 'it is no list of records'],
  ['[{"word":"skip","at":"yesterday"}]', 'it is no list of records'],
  [`[{"config":"a","startedAt":"${NOW}","stood":5}]`, 'it is no list of records'],
  [`[{"config":"a","startedAt":"${NOW}","stood":[{"state":1}]}]`, 'it is no list of records'],
  [`[{"config":"a","startedAt":"${NOW}","failed":[null]}]`, 'it is no list of records'],
  [`[{"config":"a","startedAt":"${NOW}","counts":{"machines":"4"}}]`, 'it is no list of records'],
])('a history that somebody has changed to %s', (text, why) => {
  const node = aNode({ [ANNOTATION.HISTORY]: text, ...taken(1) });

  it('is not readable', () => {
    expect(historyOf(node)).toEqual({ records: [], unreadable: why });
  });

  it('is kept as it is, beside a new one', () => {
    const after = applied(node, withHistory(node, update(1), UPDATED));

    expect(after.metadata.annotations?.[ANNOTATION.HISTORY_UNREADABLE]).toBe(text);
    expect(recordsOf(after)).toHaveLength(1);
  });
});

it('takes what a later version has written beside it', () => {
  const text = `[{"word":"pause","at":"${NOW}","urgency":3}]`;
  expect(recordsOf(aNode({ [ANNOTATION.HISTORY]: text }))).toEqual([
    { word: 'pause', at: NOW, urgency: 3 },
  ]);
});

it('adds the times of a phase that came twice, and never subtracts', () => {
  const phases = [
    { phase: 'Draining', seconds: 1.24 },
    { phase: 'Applying', seconds: -3 },
    { phase: 'Draining', seconds: 2 },
  ] as const;
  expect(secondsByPhase(phases)).toEqual({ Draining: 3.2, Applying: 0 });
});
