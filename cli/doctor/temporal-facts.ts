import { type Client, type Connection, WorkflowNotFoundError } from '@temporalio/client';
import { inParallel } from '../../core/concurrency-limit';
import { CLUSTER_QUEUE, STEP_QUEUE } from '../../core/names';
import { UPDATE_NODE } from '../../process/temporal/node-updates';
import { POOL_ROLLOUT } from '../../process/temporal/start-rollout';
import { missingInTemporal } from '../../process/temporal/requirements';
import { SEARCH_ATTRIBUTE_NAMES } from '../../workflows/contracts/search-attributes';
import type { CliTemporal } from '../ports';
import type { TemporalCalls } from '../temporal-calls';
import type { DoctorTemporal, HistorySize } from './ports';

interface Target {
  readonly connection: Connection;
  readonly client: Client;
  readonly calls: TemporalCalls;
  readonly address: string;
  readonly namespace: string;
  readonly rollouts: Pick<CliTemporal, 'hostWorker'>;
}

/** Of Temporal's `TaskQueueType`. */
const WORKFLOW_QUEUE = 1;
const ACTIVITY_QUEUE = 2;

/** Of the cluster workers, in words. */
const QUEUES = {
  'workflow tasks': { name: CLUSTER_QUEUE, taskQueueType: WORKFLOW_QUEUE },
  activities: { name: CLUSTER_QUEUE, taskQueueType: ACTIVITY_QUEUE },
  'steps of rollouts': { name: STEP_QUEUE, taskQueueType: ACTIVITY_QUEUE },
} as const;

const MOST_HISTORIES = 2_000;
const ASKED_AT_ONCE = 16;

export function doctorTemporal(target: Target): DoctorTemporal {
  const { connection, client, calls, address, namespace, rollouts } = target;
  const ofQueues = async <T>(
    read: (queue: Awaited<ReturnType<typeof describe>>) => T,
  ): Promise<{ readonly [queue: string]: T }> => {
    const found: Record<string, T> = {};
    for (const [words, queue] of Object.entries(QUEUES)) found[words] = read(await describe(queue));
    return found;
  };
  const describe = ({ name, taskQueueType }: (typeof QUEUES)[keyof typeof QUEUES]) =>
    calls.ofServer(() =>
      client.workflowService.describeTaskQueue({
        ...{ namespace, taskQueue: { name }, taskQueueType, reportStats: true },
      }),
    );
  return {
    ...{ address, namespace },
    version: async () => {
      const { serverVersion } = await calls.ofServer(() =>
        client.workflowService.getSystemInfo({}),
      );
      return serverVersion;
    },
    missing: () =>
      calls.ofServer(() => missingInTemporal(connection, namespace, SEARCH_ATTRIBUTE_NAMES)),
    clusterWorkers: () => ofQueues(({ pollers }) => pollers.length),
    backlogs: () =>
      ofQueues(({ stats }) => ({
        tasks: Number(stats?.approximateBacklogCount ?? 0),
        ageSeconds: Number(stats?.approximateBacklogAge?.seconds ?? 0),
      })),
    histories: () => histories(client, calls),
    hasHostWorker: async (node) => (await rollouts.hostWorker(node)) !== undefined,
  };
}

/** A list does not have the sizes of open workflows. */
async function histories(client: Client, calls: TemporalCalls): Promise<readonly HistorySize[]> {
  const ids = await calls.ofServer(async () => {
    const found: string[] = [];
    const query = `WorkflowType IN ('${POOL_ROLLOUT}', '${UPDATE_NODE}') AND CloseTime IS NULL`;
    for await (const { workflowId } of client.workflow.list({ query })) {
      found.push(workflowId);
      if (found.length === MOST_HISTORIES) break;
    }
    return found;
  });
  const sizes = await inParallel(ids, ASKED_AT_ONCE, async (workflow) => {
    try {
      const { historyLength, historySize = 0 } = await calls.ofServer(() =>
        client.workflow.getHandle(workflow).describe(),
      );
      return [{ workflow, events: historyLength, bytes: historySize }];
    } catch (error) {
      // It has ended meanwhile, and is forgotten.
      if (error instanceof WorkflowNotFoundError) return [];
      throw error;
    }
  });
  return sizes.flat();
}
