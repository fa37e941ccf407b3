/**
 * Events, under MCO's reasons where MCO has the same one (pkg/daemon, pkg/controller, 7ff337a4). A
 * refused Event is only logged.
 */

import { messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterEvent, ClusterPorts } from './ports';

type EventPorts = Pick<ClusterPorts, 'events' | 'run'>;

export async function tell(
  ports: EventPorts,
  node: Node,
  type: ClusterEvent['type'],
  reason: string,
  message: string,
): Promise<void> {
  const { name, uid = '' } = node.metadata;
  await unlessRefused(ports, { node: name }, () =>
    ports.events.onNode({ name, uid }, { type, reason, message }),
  );
}

/** One for all nodes that get their grant together, as in MCO. */
export async function tellGranted(
  ports: EventPorts,
  { metadata: { name, uid = '' } }: MachineConfigPool,
  nodes: readonly string[],
  config: string,
): Promise<void> {
  if (nodes.length === 0) return;
  const message =
    nodes.length === 1
      ? `Targeted node ${nodes[0]} to MachineConfig: ${config}`
      : `Set target for ${nodes.length} nodes to MachineConfig: ${config}`;
  await unlessRefused(ports, { pool: name }, () =>
    ports.events.onPool({ name, uid }, { type: 'Normal', reason: 'SetDesiredConfig', message }),
  );
}

async function unlessRefused(
  ports: EventPorts,
  about: Record<string, string>,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    ports.run().log.debug('event was not written', { ...about, reason: messageOf(error) });
  }
}
