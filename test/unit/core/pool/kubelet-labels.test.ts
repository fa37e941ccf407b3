import { kubeletLabels } from '../../../../core/pool';

it.each([
  ['node-role.kubernetes.io/infra', false],
  ['node-restriction.kubernetes.io/team', false],
  ['example.node-restriction.kubernetes.io/team', false],
  ['kubernetes.io/metadata.name', false],
  ['cluster.x-k8s.io/team', true],
  ['machine.k8s.io/team', false],
  ['kubernetes.io/hostname', true],
  ['topology.kubernetes.io/zone', true],
  ['node.kubernetes.io/instance-type', true],
  ['x.node.kubernetes.io/team', true],
  ['notkubernetes.io/team', true],
  ['example.com/team', true],
  ['team', true],
])('a kubelet may set %s: %s', (key, isOpen) => {
  expect(kubeletLabels({ matchLabels: { [key]: '' } })).toEqual(isOpen ? [key] : []);
  expect(kubeletLabels({ matchExpressions: [{ key, operator: 'Exists' }] })).toEqual(
    isOpen ? [key] : [],
  );
});

it('names a label once, and none of a pool without a selector', () => {
  const both = {
    matchLabels: { team: 'a' },
    matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }],
  };

  expect(kubeletLabels(both)).toEqual(['team']);
  expect(kubeletLabels(undefined)).toEqual([]);
});
