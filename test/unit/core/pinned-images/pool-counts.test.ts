import type { MachineConfigNode } from '../../../../core/node/types';
import { withPinnedCounts } from '../../../../core/pinned-images';

const COUNTS = { machineCount: 4, readyMachineCount: 3, unavailableMachineCount: 1 };

function node(name: string, progressing?: 'True' | 'False', degraded = 'False'): MachineConfigNode {
  const conditions = [
    ['PinnedImageSetsProgressing', progressing],
    ['PinnedImageSetsDegraded', degraded],
  ].map(([type = '', status]) => ({ type, status: status as 'True', reason: 'x', message: '' }));
  return {
    metadata: { name },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'a' } },
    status: { conditions: progressing === undefined ? [] : conditions },
  };
}

function counted(hasSets: boolean, nodes: readonly MachineConfigNode[], counts = COUNTS) {
  return withPinnedCounts(counts, hasSets, nodes).poolSynchronizersStatus;
}

it('counts the nodes that have all pinned images', () => {
  const nodes = [node('a', 'False'), node('b', 'True'), node('c', 'False', 'True'), node('d')];
  expect(counted(true, nodes)).toEqual([
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

it('counts a node that never had any where the pool has no set', () => {
  const nodes = [node('a'), node('b', 'False'), node('c', 'True')];
  expect(counted(false, nodes)).toMatchObject([{ updatedMachineCount: 2 }]);
});

it('says that no more are ready than available, as the kind demands', () => {
  const counts = { machineCount: 2, readyMachineCount: 2, unavailableMachineCount: 1 };
  expect(counted(false, [], counts)).toMatchObject([
    { readyMachineCount: 1, availableMachineCount: 1, updatedMachineCount: 0 },
  ]);
});
