import { ANNOTATION } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import { DEFAULT_POLICY, inTurns, nodesInLine } from '../../../../core/rollout';
import { A, aNewNode, aNode, aPool, B, namesOf, updated } from '../pool/builders';

const OURS = 'update-node/n0';

const inLine = (nodes: readonly Node[], pool = aPool()): readonly string[] =>
  namesOf(nodesInLine({ pool, nodes, machineConfigNodeOf: () => undefined }, DEFAULT_POLICY));

it('is every node that is not on the target, in the order in which they will be drained', () => {
  const nodes = [
    aNode('young', { created: '2029-03-01T00:00:00Z' }),
    updated('done'),
    aNode('old', { created: '2029-02-01T00:00:00Z' }),
    aNode('zoned', { zone: 'b', created: '2029-04-01T00:00:00Z' }),
  ];

  expect(inLine(nodes)).toEqual(['zoned', 'old', 'young']);
});

it('has those last to which no pod goes anyway, or which their update has already', () => {
  const nodes = [
    aNode('a-drained', { desired: B, state: 'Working', cordonedBy: OURS }),
    aNode('b-serving', { desired: B, state: 'Working' }),
    aNode('c-of-a-person', { cordoned: true }),
    aNode('d-not-ready', { ready: 'False' }),
    aNode('e-waiting'),
  ];

  const names = inLine(nodes);

  expect(names[0]).toBe('e-waiting');
  expect([...names].sort()).toEqual(namesOf(nodes));
});

it.each<[string, Node]>([
  ['failed on the target', aNode('n', { desired: B, state: 'Degraded', reason: 'no space' })],
  ['held for it', aNode('n', { annotations: { [ANNOTATION.HELD_FOR]: B } })],
  ['being deleted', aNode('n', { deleted: '2029-01-01T00:00:00Z' })],
  ['on the target', updated('n')],
  ['on the target, with a cordon of ours yet', updated('n', { cordonedBy: OURS })],
  ['has yet to say what it is on', aNewNode('n')],
])('leaves out a node that is %s', (_what, node) => {
  expect(inLine([node, aNode('other')])).toEqual(['other']);
});

it.each<[string, Node]>([
  ['failed on another config', aNode('n', { desired: A, state: 'Degraded', reason: 'no space' })],
  ['held for another config', aNode('n', { annotations: { [ANNOTATION.HELD_FOR]: A } })],
  ['given back because its drain is tried later', aNode('n', { desired: A, state: 'Done' })],
])('keeps a node that is %s', (_what, node) => {
  expect(inLine([node])).toEqual(['n']);
});

it.each([
  ['is paused', { paused: true }],
  ['has no config', { configuration: {} }],
  ['has an impossible maxUnavailable', { maxUnavailable: 'many' }],
])('is empty in a pool that %s', (_what, spec) => {
  expect(inLine([aNode('n')], aPool(spec))).toEqual([]);
});

it('is empty when too many have failed: the others wait for a person', () => {
  const failed = ['x', 'y'].map((name) =>
    aNode(name, { desired: B, state: 'Degraded', reason: 'no space' }),
  );

  expect(inLine([...failed.slice(1), aNode('n')])).toEqual(['n']);
  expect(inLine([...failed, aNode('n')])).toEqual([]);
});

it('lets several lines take turns', () => {
  expect(inTurns([['a', 'b', 'c'], [], ['x', 'y']])).toEqual(['a', 'x', 'b', 'y', 'c']);
  expect(inTurns([])).toEqual([]);
});
