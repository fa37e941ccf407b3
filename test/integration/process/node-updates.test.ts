/** The updates of nodes in a real Temporal: no worker takes their tasks, so they stay open. */

import type { Client } from '@temporalio/client';
import { updateNodeId } from '../../../core/names';
import { DEFAULT_POLICY } from '../../../core/rollout';
import { NodeUpdates } from '../../../process/temporal/node-updates';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import type { NodeUpdateInput } from '../../../workflows/contracts/update';
import { until } from '../tools/until';

jest.setTimeout(60_000);

let server: TemporalServer;
let client: Client;
let updates: NodeUpdates;

beforeAll(async () => {
  server = await startTemporal({
    ui: false,
    dynamicConfig: { 'frontend.WorkflowPauseEnabled': true },
  });
  client = await temporalClient(server);
  updates = new NodeUpdates(client);
}, 300_000);

afterAll(async () => {
  await client.connection.close();
  await server.stop();
});

function input(node: string, more: Partial<NodeUpdateInput> = {}): NodeUpdateInput {
  return {
    ...{ node, uid: `uid-${node}`, pool: 'worker', poolUid: 'uid-worker', poolGeneration: 1 },
    policy: DEFAULT_POLICY,
    ...{ config: { name: 'rendered-b', digest: 'd' }, disruptionPolicies: {}, found: 'whole' },
    ...more,
  };
}

const handleOf = (node: string) => client.workflow.getHandle(updateNodeId(node));
const runOf = async (node: string) => (await handleOf(node).describe()).runId;

/** Visibility is eventually consistent. */
async function listed(
  pool: string,
  count: number,
): Promise<Awaited<ReturnType<NodeUpdates['listOpen']>>> {
  await until(
    async () => (await updates.listOpen(pool)).length === count,
    `${count} open updates of ${pool}`,
    20_000,
  );
  return updates.listOpen(pool);
}

it('lists what it starts, with what a step decides on', async () => {
  await updates.start(input('a'));
  await updates.start(input('b', { takesBack: true }));
  await updates.start(input('c', { pool: 'infra' }));

  const open = [...(await listed('worker', 2))].sort((a, b) => (a.node < b.node ? -1 : 1));
  expect(open).toEqual([
    { node: 'a', run: await runOf('a'), config: 'rendered-b', uid: 'uid-a' },
    { node: 'b', run: await runOf('b'), config: 'rendered-b', uid: 'uid-b', takesBack: true },
  ]);
});

it('counts one that a person has paused as open', async () => {
  await updates.start(input('p', { pool: 'paused' }));
  const run = await runOf('p');
  await client.workflowService.pauseWorkflowExecution({
    namespace: server.namespace,
    workflowId: updateNodeId('p'),
    identity: 'test',
    reason: 'a look at the machine',
    requestId: 'pause-p',
  });

  expect((await handleOf('p').describe()).status.name).toBe('PAUSED');
  expect(await updates.isClosed('p', run)).toBe(false);
  expect(await listed('paused', 1)).toMatchObject([{ node: 'p' }]);
});

it('lets an update go on that runs already', async () => {
  const run = await updates.start(input('twice'));
  const again = input('twice', { config: { name: 'rendered-c', digest: 'd' } });

  expect(await updates.start(again)).toBe(run);
  expect(await runOf('twice')).toBe(run);
});

it('knows at once which run is closed, also one that Temporal never had', async () => {
  await updates.start(input('ends'));
  const run = await runOf('ends');
  expect(await updates.isClosed('ends', run)).toBe(false);

  await handleOf('ends').terminate('by the test');
  await updates.start(input('ends'));

  expect(await updates.isClosed('ends', run)).toBe(true);
  expect(await updates.isClosed('ends', await runOf('ends'))).toBe(false);
  expect(await updates.isClosed('never', '019353c2-6a1f-7f6b-9a52-0d5c3fb2c111')).toBe(true);
});

it('cancels a run once, and none that has ended', async () => {
  await updates.start(input('stop'));
  const update = { node: 'stop', run: await runOf('stop') };
  await updates.cancel(update);
  await updates.cancel(update);

  const { events = [] } = await handleOf('stop').fetchHistory();
  const requests = events?.filter((event) => event.workflowExecutionCancelRequestedEventAttributes);
  expect(requests).toHaveLength(1);

  await handleOf('stop').terminate('by the test');
  await updates.cancel(update);
  await updates.cancel({ node: 'never', run: update.run });
});

it('says that Temporal does not answer', async () => {
  const away = await temporalClient(server);
  await away.connection.close();
  const silent = new NodeUpdates(away);

  await expect(silent.isClosed('a', 'b')).rejects.toThrow('Temporal does not answer');
});
