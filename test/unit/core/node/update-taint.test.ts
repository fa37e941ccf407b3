import type { Node, NodeTaint } from '../../../../core/node/types';
import {
  hasUpdateTaint,
  isOnlyUpdateTaint,
  otherTaints,
  taintsWithUpdate,
} from '../../../../core/node/update-taint';

const OURS = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' };
const RACK = { key: 'example.com/rack', value: '7', effect: 'NoExecute', timeAdded: '2026-01-01' };
const OTHER_EFFECT = { key: 'UpdateInProgress', effect: 'NoSchedule' };

const withTaints = (taints?: readonly NodeTaint[], version = '1'): Node => ({
  metadata: { name: 'n', resourceVersion: version },
  spec: taints === undefined ? {} : { taints },
});

it('is put beside the taints of others, which stay as they are', () => {
  expect(taintsWithUpdate(withTaints([RACK, OTHER_EFFECT]))).toEqual([RACK, OTHER_EFFECT, OURS]);
  expect(taintsWithUpdate(withTaints())).toEqual([OURS]);
});

it('is taken away alone, also as MCO wrote it', () => {
  const byMco = { ...OURS, value: '' };

  expect(otherTaints(withTaints([RACK, byMco, OTHER_EFFECT]))).toEqual([RACK, OTHER_EFFECT]);
});

it('is there by key and effect', () => {
  expect(hasUpdateTaint(withTaints([RACK, OURS]))).toBe(true);
  expect(hasUpdateTaint(withTaints([RACK, OTHER_EFFECT]))).toBe(false);
  expect(hasUpdateTaint(withTaints())).toBe(false);
});

it.each<[string, Node, Node, boolean]>([
  ['it alone came', withTaints([RACK]), withTaints([RACK, OURS], '2'), true],
  ['it alone went', withTaints([OURS]), withTaints(undefined, '2'), true],
  ['nothing came', withTaints([OURS]), withTaints([OURS], '2'), false],
  ['another taint came with it', withTaints(), withTaints([RACK, OURS], '2'), false],
  [
    'the node was uncordoned, too',
    { ...withTaints([OURS]), spec: { taints: [OURS], unschedulable: true } },
    withTaints([], '2'),
    false,
  ],
])('tells whether nothing else has changed: %s', (_what, before, after, is) => {
  expect(isOnlyUpdateTaint(before, after)).toBe(is);
});
