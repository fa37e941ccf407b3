import { homesOf } from '../../observer/membership';
import type { NodeSelector } from '../../observer/observed';
import { node, poolOf, role, status } from './objects';

const POOLS = ['worker', 'infra', 'edge', 'master'].map((name) => poolOf(name));
const OS = 'kubernetes.io/os';

test.each([
  ['of its only role', role('worker'), 'worker'],
  ['of another one before worker', role('worker', 'infra'), 'infra'],
  ['of another one alone', role('infra'), 'infra'],
  ['of masters before any other', role('worker', 'infra', 'master'), 'master'],
  ['of masters that work', role('master', 'worker'), 'master'],
  ['of none, with two others', role('worker', 'infra', 'edge'), undefined],
  ['of none, also of masters with two others', role('master', 'infra', 'edge'), undefined],
  ['of none without a role', {}, undefined],
  ['of none with Windows', { ...role('worker'), [OS]: 'windows' }, undefined],
  ['of its role with Linux', { ...role('worker'), [OS]: 'linux' }, 'worker'],
])('a node is in the pool %s', (_what, labels, home) => {
  expect(homesOf([node('a', { labels })], POOLS).get('a')).toBe(home);
});

const expressions = (...matchExpressions: NonNullable<NodeSelector['matchExpressions']>) => ({
  matchExpressions,
});

test.each<[string, NodeSelector | undefined, boolean]>([
  ['none', undefined, false],
  ['an empty one', { matchLabels: {}, matchExpressions: [] }, false],
  ['a label', { matchLabels: { zone: 'a' } }, true],
  ['a label with another value', { matchLabels: { zone: 'b' } }, false],
  ['a label that it has not', { matchLabels: { toString: '' } }, false],
  ['In', expressions({ key: 'zone', operator: 'In', values: ['b', 'a'] }), true],
  ['In others', expressions({ key: 'zone', operator: 'In', values: ['b'] }), false],
  ['In nothing', expressions({ key: 'zone', operator: 'In' }), false],
  ['NotIn', expressions({ key: 'zone', operator: 'NotIn', values: ['a'] }), false],
  ['NotIn others', expressions({ key: 'zone', operator: 'NotIn', values: ['b'] }), true],
  ['NotIn, not there', expressions({ key: 'rack', operator: 'NotIn', values: ['a'] }), true],
  ['NotIn nothing', expressions({ key: 'zone', operator: 'NotIn', values: [] }), false],
  ['Exists', expressions({ key: 'zone', operator: 'Exists' }), true],
  ['Exists, not there', expressions({ key: 'rack', operator: 'Exists' }), false],
  ['Exists with values', expressions({ key: 'zone', operator: 'Exists', values: ['a'] }), false],
  ['DoesNotExist', expressions({ key: 'zone', operator: 'DoesNotExist' }), false],
  ['DoesNotExist, not there', expressions({ key: 'rack', operator: 'DoesNotExist' }), true],
  ['an operator that does not exist', expressions({ key: 'zone', operator: 'Gt' }), false],
  [
    'both, and one does not hold',
    {
      matchLabels: { zone: 'a' },
      ...expressions({ key: 'rack', operator: 'Exists' }),
    },
    false,
  ],
])('a selector takes a node by %s: %#', (_what, nodeSelector, takes) => {
  const pool = status('worker', nodeSelector === undefined ? {} : { nodeSelector });
  expect(homesOf([node('a', { labels: { zone: 'a' } })], [pool]).has('a')).toBe(takes);
});
