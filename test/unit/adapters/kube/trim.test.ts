import { trimNode, trimPod } from '../../../../adapters/kube/trim';

const managedFields = [
  { manager: 'kubelet', operation: 'Update', fieldsV1: { 'f:status': { 'f:conditions': {} } } },
  {
    ...{ manager: 'kubectl', operation: 'Update', time: '2026-01-01T00:00:00Z' },
    fieldsV1: { 'f:metadata': {}, 'f:spec': { 'f:taints': {}, 'f:unschedulable': {} } },
  },
];

it('keeps of the field managers only the one that cordoned a node', () => {
  const node = { metadata: { name: 'n', managedFields }, spec: { unschedulable: true } };

  expect(trimNode(node).metadata).toEqual({
    name: 'n',
    managedFields: [{ manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } }],
  });
  expect(trimNode({ ...node, spec: {} }).metadata).toEqual({ name: 'n' });
});

it('keeps of a pod that goes when it was asked to', () => {
  const going = { deletionTimestamp: '2026-01-01T12:30:00Z', deletionGracePeriodSeconds: 1_800 };

  expect(trimPod({ metadata: { name: 'p', ...going } }).metadata).toEqual({ name: 'p', ...going });
});
