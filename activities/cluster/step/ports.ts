/** What a step reads and writes. */

import type { ClusterPorts } from '../ports';

export type StepPorts = Pick<
  ClusterPorts,
  'nodes' | 'pools' | 'configs' | 'poolRollouts' | 'nodeUpdates' | 'events' | 'run' | 'now'
> & {
  readonly view: Pick<
    ClusterPorts['view'],
    'nodes' | 'pools' | 'policies' | 'machineConfigNodes' | 'machineConfigurations'
  >;
};
