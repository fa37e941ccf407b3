import { fail, failureName } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { isSameNode } from '../../core/rollout';
import type { NodeStep } from '../../workflows/contracts/cluster';
import type { ClusterPorts } from './ports';

/** The cached Node. @throws `ObjectNotFound` */
export async function knownNode(ports: Pick<ClusterPorts, 'view'>, name: string): Promise<Node> {
  await ports.view.nodes.synced;
  const node = ports.view.nodes.get(name);
  if (node === undefined) {
    throw fail('ObjectNotFound', `node ${name} does not exist`, { node: name });
  }
  return node;
}

/** Refuses another Node of the same name. @throws `NodeDeleted` */
export function refuseAnotherNode(node: Node, { node: name, uid }: NodeStep): void {
  if (!isSameNode(node, uid)) throw nodeDeleted(name, ', and another node has its name');
}

export function nodeDeleted(name: string, more = ''): Error {
  return fail('NodeDeleted', `node ${name} was deleted during its update${more}`, { node: name });
}

/** Undefined = the object is not there, or its Node is gone. */
export async function unlessGone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (['ObjectNotFound', 'NodeDeleted'].includes(failureName(error) ?? '')) return undefined;
    throw error;
  }
}

export async function orDeleted<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') throw nodeDeleted(name);
    throw error;
  }
}
