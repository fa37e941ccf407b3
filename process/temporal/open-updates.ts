import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { fail, messageOf } from '../../core/errors';
import { updateNodeId } from '../../core/names';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';

/** A paused workflow is open. */
export function isOpenStatus(status: string): boolean {
  return status === 'RUNNING' || status === 'PAUSED';
}

export class OpenUpdates {
  constructor(readonly client: Client) {}

  /** @throws `TemporalUnavailable` */
  async isRunning(node: string): Promise<boolean> {
    return (await this.openRun(node)) !== undefined;
  }

  /** @throws `TemporalUnavailable` */
  async isOpen(node: string, runId: string): Promise<boolean> {
    return (await this.openRun(node)) === runId;
  }

  /** Only the latest run can be open. */
  private async openRun(node: string): Promise<string | undefined> {
    try {
      const update = this.client.workflow.getHandle(updateNodeId(node));
      const { status, runId } = await update.describe();
      return isOpenStatus(status.name) ? runId : undefined;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw unavailable(error);
    }
  }

  /**
   * The open updates of a pool, from visibility, which may lag. A paused update is not `Running`.
   *
   * @throws `TemporalUnavailable`
   */
  async ofPool(pool: string): Promise<readonly string[]> {
    const query = `WorkflowType = 'updateNode' AND CloseTime IS NULL AND ${SEARCH_ATTRIBUTE.pool.name} = '${pool.replaceAll("'", '')}'`;
    const nodes: string[] = [];
    try {
      for await (const { workflowId } of this.client.workflow.list({ query })) {
        const prefix = updateNodeId('');
        if (workflowId.startsWith(prefix)) nodes.push(workflowId.slice(prefix.length));
      }
    } catch (error) {
      throw unavailable(error);
    }
    return nodes;
  }
}

function unavailable(error: unknown): Error {
  return fail('TemporalUnavailable', `Temporal does not answer: ${messageOf(error)}`);
}
