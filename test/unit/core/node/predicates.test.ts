import { ANNOTATION } from '../../../../core/names';
import {
  isDone,
  isFailing,
  isReady,
  isUnavailable,
  isUpdatedTo,
} from '../../../../core/node/predicates';
import type { Node } from '../../../../core/node/types';
import { A, aNewNode, aNode, B, updated } from '../pool/builders';

const reporting = (type: string, status: string): Node => ({
  ...aNode('n0'),
  status: { conditions: [{ type, status }] },
});

describe('a ready node', () => {
  it.each<[string, Node, boolean]>([
    ['with nothing to report', { ...aNode('n0'), status: {} }, true],
    ['without a status', { metadata: { name: 'n0' } }, true],
    ['Ready', reporting('Ready', 'True'), true],
    ['not Ready', reporting('Ready', 'False'), false],
    ['unknown', reporting('Ready', 'Unknown'), false],
    ['short of disk', reporting('DiskPressure', 'True'), false],
    ['perhaps short of disk', reporting('DiskPressure', 'Unknown'), false],
    ['without a network', reporting('NetworkUnavailable', 'True'), false],
    ['short of memory', reporting('MemoryPressure', 'True'), true],
    ['short of processes', reporting('PIDPressure', 'True'), true],
    ['with a condition of somebody else', reporting('constructor', 'True'), true],
    ['cordoned', aNode('n0', { cordoned: true }), false],
  ])('%s: %s', (_name, node, expected) => {
    expect(isReady(node)).toBe(expected);
  });
});

describe('a node that is done', () => {
  const images = (current: string | undefined, desired: string | undefined) =>
    aNode('n0', {
      annotations: {
        ...(current === undefined ? {} : { [ANNOTATION.CURRENT_IMAGE]: current }),
        ...(desired === undefined ? {} : { [ANNOTATION.DESIRED_IMAGE]: desired }),
      },
    });

  it.each<[string, Node, boolean]>([
    ['agrees with what it shall run', aNode('n0'), true],
    ['was never configured', aNewNode('n0'), false],
    ['shall run something else', aNode('n0', { desired: B }), false],
    ['works', aNode('n0', { state: 'Working' }), false],
    ['agrees on its image', images('q@sha256:1', 'q@sha256:1'), true],
    ['shall run another image', images('q@sha256:1', 'q@sha256:2'), false],
    ['leaves its image', images('q@sha256:1', undefined), false],
    ['has empty images', images('', ''), false],
  ])('%s: %s', (_name, node, expected) => {
    expect(isDone(node)).toBe(expected);
  });
});

describe('a failing node', () => {
  it.each<[string, Node, boolean, boolean]>([
    ['on its way', aNode('n0', { desired: B, state: 'Degraded' }), true, false],
    ['unreconcilable', aNode('n0', { desired: B, state: 'Unreconcilable' }), true, false],
    [
      'at rest (drift) is not failing, but unavailable',
      aNode('n0', { state: 'Degraded' }),
      false,
      true,
    ],
    [
      'cordoned is unavailable',
      aNode('n0', { desired: B, state: 'Degraded', cordoned: true }),
      true,
      true,
    ],
    ['that works again is not', aNode('n0', { desired: B, state: 'Working' }), false, true],
  ])('%s', (_name, node, failing, unavailable) => {
    expect([isFailing(node), isUnavailable(node)]).toEqual([failing, unavailable]);
  });
});

describe('an updated node', () => {
  it('is done on exactly this config', () => {
    expect(isUpdatedTo(updated('n0'), B)).toBe(true);
    expect(isUpdatedTo(updated('n0'), A)).toBe(false);
    expect(isUpdatedTo(updated('n0', { state: 'Working' }), B)).toBe(false);
    expect(isUpdatedTo(updated('n0'), undefined)).toBe(false);
  });
});
