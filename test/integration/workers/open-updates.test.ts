import type { Client } from '@temporalio/client';
import { CLUSTER_QUEUE, updateNodeId } from '../../../core/names';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import { OpenUpdates } from '../../../process/temporal/open-updates';
import { SEARCH_ATTRIBUTE } from '../../../workflows/contracts/search-attributes';
import { until } from '../tools/until';

jest.setTimeout(60_000);

let server: TemporalServer;
let client: Client;

beforeAll(async () => {
  server = await startTemporal({
    ui: false,
    dynamicConfig: { 'frontend.WorkflowPauseEnabled': true },
  });
  client = await temporalClient(server);
}, 300_000);

afterAll(async () => {
  await client.connection.close();
  await server.stop();
});

/** Stays open: no worker takes its first task. */
async function startUpdate(node: string, pool: string): Promise<void> {
  await client.workflow.start('updateNode', {
    workflowId: updateNodeId(node),
    taskQueue: CLUSTER_QUEUE,
    typedSearchAttributes: [{ key: SEARCH_ATTRIBUTE.pool, value: pool }],
  });
}

const updateOf = (node: string) => client.workflow.getHandle(updateNodeId(node));

/** Visibility is eventually consistent. */
async function shows(pool: string, expected: readonly string[]): Promise<void> {
  const what = `the open updates of ${pool} are ${expected.join(', ')}`;
  const open = async () => [...(await new OpenUpdates(client).ofPool(pool))].sort().join();
  await until(async () => (await open()) === expected.join(), what, 20_000);
}

it('finds the updates of a pool that will go on, also those that a person paused', async () => {
  const updates = new OpenUpdates(client);
  for (const node of ['n1', 'n2', 'n3']) await startUpdate(node, 'worker');
  await startUpdate('n4', 'infra');
  await updateOf('n2').terminate('by the test');
  await client.workflowService.pauseWorkflowExecution({
    namespace: server.namespace,
    workflowId: updateNodeId('n3'),
    identity: 'test',
    reason: 'a look at the machine',
    requestId: 'pause-n3',
  });

  expect((await updateOf('n3').describe()).status.name).toBe('PAUSED');
  expect(await updates.isRunning('n3')).toBe(true);
  expect(await updates.isRunning('n2')).toBe(false);
  expect(await updates.isRunning('n9')).toBe(false);
  await shows('infra', ['n4']);
  await shows('worker', ['n1', 'n3']);
});
