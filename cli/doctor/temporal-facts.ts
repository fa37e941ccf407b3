import type { Client, Connection } from '@temporalio/client';
import { CLUSTER_QUEUE, STEP_QUEUE } from '../../core/names';
import { missingInTemporal } from '../../process/temporal/requirements';
import { SEARCH_ATTRIBUTE_NAMES } from '../../workflows/contracts/search-attributes';
import type { CliTemporal } from '../ports';
import type { TemporalCalls } from '../temporal-calls';
import type { DoctorTemporal } from './ports';

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

export function doctorTemporal(target: Target): DoctorTemporal {
  const { connection, client, calls, address, namespace, rollouts } = target;
  const pollers = async (name: string, taskQueueType: number): Promise<number> => {
    const { pollers: found } = await calls.ofServer(() =>
      client.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }),
    );
    return found.length;
  };
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
    clusterWorkers: async () => ({
      'workflow tasks': await pollers(CLUSTER_QUEUE, WORKFLOW_QUEUE),
      activities: await pollers(CLUSTER_QUEUE, ACTIVITY_QUEUE),
      'steps of rollouts': await pollers(STEP_QUEUE, ACTIVITY_QUEUE),
    }),
    hasHostWorker: async (node) => (await rollouts.hostWorker(node)) !== undefined,
  };
}
