/** The updates of nodes in Temporal, as a step of a rollout lists, starts and cancels them. */

import {
  type Client,
  type WorkflowExecutionInfo,
  WorkflowNotFoundError,
  ServiceError,
} from '@temporalio/client';
import { fail, messageOf } from '../../core/errors';
import { CLUSTER_QUEUE, updateNodeId } from '../../core/names';
import type { OpenUpdate } from '../../core/rollout/picture';
import type { NodeUpdateInput, NodeUpdateMemo } from '../../workflows/contracts/update';
import { PRIORITY } from '../../workflows/contracts/priorities';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';
import { brief } from '../../workflows/contracts/timeouts';
import { isOpenStatus } from './open-updates';

export const UPDATE_NODE = 'updateNode';

/** All of it throws `TemporalUnavailable` when Temporal does not answer. */
export class NodeUpdates {
  constructor(readonly client: Client) {}

  /** The open updates of a pool, from visibility, which is a moment behind. */
  async listOpen(pool: string): Promise<readonly OpenUpdate[]> {
    const query = `WorkflowType = '${UPDATE_NODE}' AND CloseTime IS NULL AND ${SEARCH_ATTRIBUTE.pool.name} = '${pool.replaceAll("'", '')}'`;
    return asked(async () => {
      const found: OpenUpdate[] = [];
      for await (const info of this.client.workflow.list({ query })) {
        const update = openUpdateOf(info);
        if (update !== undefined) found.push(update);
      }
      return found;
    });
  }

  /** Asked by its ID, so never behind. One that Temporal does not know is closed. */
  async isClosed(node: string, run: string): Promise<boolean> {
    return asked(async () => {
      try {
        const handle = this.client.workflow.getHandle(updateNodeId(node), run);
        return !isOpenStatus((await handle.describe()).status.name);
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return true;
        throw error;
      }
    });
  }

  /** One that runs already goes on. @returns the run that goes on now */
  async start(input: NodeUpdateInput): Promise<string> {
    const { node, uid, pool, config, takesBack } = input;
    const memo: NodeUpdateMemo = { uid, ...(takesBack === undefined ? {} : { takesBack }) };
    const { firstExecutionRunId } = await asked(() =>
      this.client.workflow.start(UPDATE_NODE, {
        workflowId: updateNodeId(node),
        taskQueue: CLUSTER_QUEUE,
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        priority: PRIORITY.update,
        staticSummary: brief(`${pool}: ${node} → ${config.name}`),
        memo: { ...memo },
        typedSearchAttributes: [
          { key: SEARCH_ATTRIBUTE.pool, value: pool },
          { key: SEARCH_ATTRIBUTE.node, value: node },
          { key: SEARCH_ATTRIBUTE.config, value: config.name },
        ],
      }),
    );
    return firstExecutionRunId;
  }

  /** One that has ended meanwhile is none to cancel. */
  async cancel({ node, run }: { readonly node: string; readonly run: string }): Promise<void> {
    await asked(async () => {
      try {
        await this.client.workflow.getHandle(updateNodeId(node), run).cancel();
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    });
  }
}

/** Undefined = not one of ours, whatever it is called. */
function openUpdateOf(info: WorkflowExecutionInfo): OpenUpdate | undefined {
  const { workflowId, runId, typedSearchAttributes, memo } = info;
  const prefix = updateNodeId('');
  const config = typedSearchAttributes.get(SEARCH_ATTRIBUTE.config);
  if (!workflowId.startsWith(prefix) || config === undefined) return undefined;
  const { uid, takesBack } = memo ?? {};
  return {
    ...{ node: workflowId.slice(prefix.length), run: runId, config },
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(takesBack === true ? { takesBack } : {}),
  };
}

async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw fail('TemporalUnavailable', `Temporal does not answer: ${messageOf(error)}`);
  }
}
