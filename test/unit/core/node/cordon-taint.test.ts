import { taintsOfCordon } from '../../../../core/node/cordon-taint';

const CORDON = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const BY_KUBERNETES = { ...CORDON, timeAdded: '2026-01-01T00:00:00Z' };
const RACK = { key: 'example.com/rack', value: '7', effect: 'NoExecute' };

it.each([
  ['comes with the cordon', [RACK], true, [RACK, CORDON]],
  ['goes with it, also as Kubernetes wrote it', [BY_KUBERNETES, RACK], false, [RACK]],
])('%s; those of others stay', (_what, taints, isCordoned, expected) => {
  expect(taintsOfCordon(taints, isCordoned)).toEqual(expected);
});

it.each([
  ['of a cordoned node', [BY_KUBERNETES, RACK], true],
  ['of one that is not', [RACK], false],
])('is the same list where nothing changes: %s', (_what, taints, isCordoned) => {
  expect(taintsOfCordon(taints, isCordoned)).toBe(taints);
});
