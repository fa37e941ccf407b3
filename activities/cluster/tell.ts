/** Events, under MCO's reasons where MCO has the same one (pkg/daemon, pkg/controller, 7ff337a4). */

import type { Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterEvent, ClusterPorts } from './ports';

type EventPorts = Pick<ClusterPorts, 'events'>;

export function tell(
  { events }: EventPorts,
  { metadata: { name } }: Node,
  type: ClusterEvent['type'],
  reason: string,
  message: string,
): void {
  events.onNode({ name }, { type, reason, message });
}

/** One for all nodes that get their grant together, as in MCO. */
export function tellGranted(
  { events }: EventPorts,
  { metadata: { name, uid = '' } }: MachineConfigPool,
  nodes: readonly string[],
  config: string,
): void {
  if (nodes.length === 0) return;
  const message =
    nodes.length === 1
      ? `Targeted node ${nodes[0]} to MachineConfig: ${config}`
      : `Set target for ${nodes.length} nodes to MachineConfig: ${config}`;
  events.onPool({ name, uid }, { type: 'Normal', reason: 'SetDesiredConfig', message });
}
