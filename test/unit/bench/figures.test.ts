import { figureLines } from '../../../bench/figures';

test('figures within a figure have lines of their own', () => {
  expect(
    figureLines({ nodes: 200, refillMs: { p50: 210, p99: 812.26 }, rssMiB: { etcd: 61 } }),
  ).toEqual([
    'FIGURE         VALUE',
    'nodes          200',
    'refillMs p50   210',
    'refillMs p99   812.3',
    'rssMiB etcd    61',
  ]);
});

test('of a list, each has a line; an empty one says so', () => {
  expect(figureLines({ violations: [], seen: ['two at once', 'an eviction'] })).toEqual([
    'FIGURE       VALUE',
    'violations   none',
    'seen         two at once',
    'seen         an eviction',
  ]);
});

test('rows with the same fields are a table of their own', () => {
  const rows = [
    { configs: 60, medianMs: 11.8152, withinGoal: true },
    { configs: 1000, medianMs: 161.71, withinGoal: true },
  ];

  expect(figureLines({ name: 'render', rows })).toEqual([
    'FIGURE   VALUE',
    'name     render',
    '',
    'CONFIGS   MEDIAN MS   WITHIN GOAL',
    '60        11.8        true',
    '1000      161.7       true',
  ]);
});
