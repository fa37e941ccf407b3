/** What a step reads and writes. */

import type { MachineConfigNode } from '../../../core/node/types';
import type { ClusterPorts, DatedLookup, NodeUpdates, PoolRolloutStore } from '../ports';

export type StepPorts = Pick<ClusterPorts, 'nodes' | 'pools' | 'configs' | 'now'> & {
  readonly view: Pick<
    ClusterPorts['view'],
    'nodes' | 'pools' | 'policies' | 'machineConfigurations'
  > & {
    readonly machineConfigNodes: DatedLookup<MachineConfigNode>;
  };
  readonly poolRollouts: PoolRolloutStore;
  readonly nodeUpdates: NodeUpdates;
};
