import type { MachineConfigNode } from '../../../../core/node/types';
import { allThere, pinnedOfPool, withPinnedCounts } from '../../../../core/pinned-images';
import type { MachineConfigPool } from '../../../../core/pool';

const COUNTS = { machineCount: 4, readyMachineCount: 3, unavailableMachineCount: 1 };

const POOL: MachineConfigPool = { metadata: { name: 'worker' }, spec: {} };
const PINNING = { ...POOL, spec: { pinnedImageSets: [{ name: 'release' }] } };
const image = (digit: string) => ({ name: `registry.example.com/app@sha256:${digit.repeat(64)}` });
const setOf = (...digits: readonly string[]) => ({
  metadata: { name: 'release' },
  spec: { pinnedImages: digits.map(image) },
});
const saidOf = (pool: MachineConfigPool, ...digits: readonly string[]) =>
  allThere(pinnedOfPool(pool, [setOf(...digits)]).pinned);
const ALL = saidOf(PINNING, '1', '2');

function node(
  name: string,
  progressing?: 'True' | 'False',
  { degraded = 'False', message = ALL } = {},
): MachineConfigNode {
  const conditions = [
    ['PinnedImageSetsProgressing', progressing],
    ['PinnedImageSetsDegraded', degraded],
  ].map(([type = '', status]) => ({ type, status: status as 'True', reason: 'x', message }));
  return {
    metadata: { name },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'a' } },
    status: { conditions: progressing === undefined ? [] : conditions },
  };
}

function counted(pool: MachineConfigPool, nodes: readonly MachineConfigNode[], counts = COUNTS) {
  return withPinnedCounts(counts, { pool, sets: [setOf('1', '2')], nodes }).poolSynchronizersStatus;
}

it('counts the nodes that have all pinned images', () => {
  const nodes = [
    node('a', 'False'),
    node('b', 'True'),
    node('c', 'False', { degraded: 'True' }),
    node('d'),
  ];
  expect(counted(PINNING, nodes)).toEqual([
    {
      poolSynchronizerType: 'PinnedImageSets',
      machineCount: 4,
      updatedMachineCount: 1,
      readyMachineCount: 3,
      availableMachineCount: 3,
      unavailableMachineCount: 1,
    },
  ]);
});

it('counts no node that has the images of an earlier list', () => {
  const nodes = ['1', '3'].map((digit) =>
    node(digit, 'False', { message: saidOf(PINNING, digit) }),
  );
  expect(counted(PINNING, nodes)).toMatchObject([{ updatedMachineCount: 0 }]);
});

it('counts a node that never had any where the pool has no set', () => {
  const none = { message: saidOf(POOL) };
  const nodes = [node('a'), node('b', 'False', none), node('c', 'True')];
  expect(counted(POOL, nodes)).toMatchObject([{ updatedMachineCount: 2 }]);
});

it('says that no more are ready than available, as the kind demands', () => {
  const counts = { machineCount: 2, readyMachineCount: 2, unavailableMachineCount: 1 };
  expect(counted(POOL, [], counts)).toMatchObject([
    { readyMachineCount: 1, availableMachineCount: 1, updatedMachineCount: 0 },
  ]);
});
