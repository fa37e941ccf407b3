import { messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import type { ClusterPorts } from './ports';

/** A refused Event is only logged. */
export async function tell(
  ports: Pick<ClusterPorts, 'events' | 'run'>,
  node: Node,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): Promise<void> {
  const { name, uid = '' } = node.metadata;
  try {
    await ports.events.onNode({ name, uid }, { type, reason, message });
  } catch (error) {
    ports.run().log.debug('event was not written', { node: name, reason: messageOf(error) });
  }
}
