import { ANNOTATION } from '../../../../core/names';
import {
  allCandidates,
  selectCandidates,
  sortByZoneAndAge,
} from '../../../../core/pool/candidates';
import type { Node } from '../../../../core/node/types';
import { A, aNode, aPool, B, namesOf, updated } from './builders';

const failing = (name: string, desired: string) =>
  aNode(name, { desired, state: 'Degraded', reason: 'boom' });

describe('candidates as MCO chooses them', () => {
  it.each<[string, Node[], number, string[], number]>([
    ['nothing to do', [updated('n0'), updated('n1')], 1, [], 1],
    ['an unavailable node', [updated('n0', { ready: 'False' }), aNode('n1')], 1, [], 0],
    [
      'room beside an unavailable one',
      [aNode('n0', { ready: 'Unknown' }), aNode('n1')],
      2,
      ['n1'],
      1,
    ],
    ['a node at work', [aNode('n0', { desired: B, state: 'Working' }), aNode('n1')], 1, [], 0],
    ['a node that has not begun', [aNode('n0', { desired: B }), aNode('n1')], 1, [], 0],
    ['a failed node on an older target', [failing('n0', 'rendered-worker-x')], 1, ['n0'], 1],
    ['a failed node on the target', [failing('n0', B), aNode('n1')], 1, [], 0],
    ['a failed node and room for one more', [failing('n0', B), aNode('n1')], 2, ['n1'], 1],
    ['no room by a negative limit', [aNode('n0')], -1, [], 0],
  ])('%s', (_name, nodes, limit, expected, capacity) => {
    const selection = allCandidates(aPool(), nodes, limit);

    expect(namesOf(selection.candidates)).toEqual(expected);
    expect(selection.capacity).toBe(capacity);
  });

  it('retargets a node that failed when the pool goes back', () => {
    const selection = allCandidates(aPool({ configuration: { name: A } }), [failing('n0', B)], 1);

    expect(namesOf(selection.candidates)).toEqual(['n0']);
  });

  it('takes a node away from a layered image', () => {
    const layered = updated('n0', {
      annotations: {
        [ANNOTATION.DESIRED_IMAGE]: 'q/os@sha256:1',
        [ANNOTATION.CURRENT_IMAGE]: 'q/os@sha256:1',
      },
    });

    expect(namesOf(allCandidates(aPool(), [layered], 1).candidates)).toEqual(['n0']);
  });

  it('counts a node with only a current image as unavailable', () => {
    const leaving = updated('n0', { annotations: { [ANNOTATION.CURRENT_IMAGE]: 'q/os@sha256:1' } });

    expect(allCandidates(aPool(), [leaving, aNode('n1')], 1).capacity).toBe(0);
  });

  it('finishes a zone before the next, the oldest first, nodes without a zone last', () => {
    const nodes = [
      aNode('late', { created: '2029-05-01T00:00:00Z' }),
      aNode('b', { zone: 'b', created: '2020-01-01T00:00:00Z' }),
      aNode('a-young', { zone: 'a', created: '2029-01-01T00:00:00Z' }),
      aNode('early', { created: '2028-05-01T00:00:00Z' }),
      aNode('a-old', { zone: 'a', created: '2021-01-01T00:00:00Z' }),
    ];

    expect(namesOf(sortByZoneAndAge(nodes))).toEqual(['a-old', 'a-young', 'b', 'early', 'late']);
    expect(namesOf(nodes)[0]).toBe('late');
  });

  it('sorts only when there are more candidates than places', () => {
    const nodes = [aNode('n0', { zone: 'b' }), aNode('n1', { zone: 'a' })];

    expect(namesOf(selectCandidates({ candidates: nodes, capacity: 2 }))).toEqual(['n0', 'n1']);
    expect(namesOf(selectCandidates({ candidates: nodes, capacity: 1 }))).toEqual(['n1']);
  });
});
