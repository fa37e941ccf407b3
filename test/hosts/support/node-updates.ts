import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { updateNodeId } from '../../../core/names';
import type { Fleet } from './fleet';

/** The last update of the node. The connection is closed after `work`. */
export async function withUpdate<T>(
  { address, namespace }: Fleet['temporal'],
  node: string,
  work: (update: WorkflowHandle) => Promise<T>,
): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection, namespace });
    return await work(workflow.getHandle(updateNodeId(node)));
  } finally {
    await connection.close();
  }
}
