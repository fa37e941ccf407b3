import { Client, Connection } from '@temporalio/client';
import { poolRolloutId, updateNodeId } from '../core/names';
import type { Stack } from '../tools/stack/stack';

/** Completed workflow tasks of the worker pool's rollouts and of every node update, all runs. */
export async function countWorkflowTasks(stack: Stack): Promise<number> {
  const connection = await Connection.connect({ address: stack.temporal.address });
  try {
    const client = new Client({ connection, namespace: stack.temporal.namespace });
    let tasks = 0;
    for (const id of [poolRolloutId('worker'), ...stack.nodesOf('worker').map(updateNodeId)]) {
      tasks += await workflowTasksOf(client, id);
    }
    return tasks;
  } finally {
    await connection.close();
  }
}

async function workflowTasksOf(client: Client, workflowId: string): Promise<number> {
  let tasks = 0;
  for await (const execution of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const { events } = await client.workflow.getHandle(workflowId, execution.runId).fetchHistory();
    tasks += (events ?? []).filter(
      (event) => event.workflowTaskCompletedEventAttributes != null,
    ).length;
  }
  return tasks;
}
