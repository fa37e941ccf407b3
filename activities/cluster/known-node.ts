import { fail } from '../../core/errors';
import type { Node } from '../../core/node/types';
import type { ClusterPorts } from '../ports';

/** The Node as the watch shows it. @throws `ObjectNotFound` */
export async function knownNode(ports: Pick<ClusterPorts, 'view'>, name: string): Promise<Node> {
  await ports.view.nodes.synced;
  const node = ports.view.nodes.get(name);
  if (node === undefined) {
    throw fail('ObjectNotFound', `node ${name} does not exist`, { node: name });
  }
  return node;
}
