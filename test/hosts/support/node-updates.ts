import type { WorkflowHandle } from '@temporalio/client';
import { updateNodeId } from '../../../core/names';
import type { Fleet } from './fleet';
import { withTemporalClient } from '../../../tools/temporal';

/** The last update of the node. The connection is closed after `work`. */
export function withUpdate<T>(
  temporal: Fleet['temporal'],
  node: string,
  work: (update: WorkflowHandle) => Promise<T>,
): Promise<T> {
  return withTemporalClient(temporal, ({ workflow }) =>
    work(workflow.getHandle(updateNodeId(node))),
  );
}
