import type { Client } from '@temporalio/client';
import { type Connections, openConnections } from '../../../cli/connections';
import { EXIT } from '../../../cli/exit-codes';
import {
  CLUSTER_QUEUE,
  hostQueue,
  poolRolloutId,
  SIMULATED_HOST,
  updateNodeId,
} from '../../../core/names';
import { DEFAULT_POLICY } from '../../../core/rollout';
import { NodeUpdates } from '../../../process/temporal/node-updates';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import { until } from '../tools/until';

jest.setTimeout(60_000);

let server: TemporalServer;
let client: Client;
let opened: Connections[] = [];

beforeAll(async () => {
  server = await startTemporal({
    ui: false,
    dynamicConfig: { 'frontend.WorkflowPauseEnabled': true },
  });
  client = await temporalClient(server);
}, 300_000);

afterEach(async () => {
  await Promise.all(opened.map((connections) => connections.close()));
  opened = [];
});

afterAll(async () => {
  await client.connection.close();
  await server.stop();
});

function connected(temporalNamespace = server.namespace): Connections {
  const flags = { color: false, temporalAddress: server.address, temporalNamespace };
  const connections = openConnections(flags, {}, new AbortController().signal);
  opened.push(connections);
  return connections;
}

function temporal(namespace?: string): ReturnType<Connections['temporal']> {
  return connected(namespace).temporal();
}

it('a namespace that Temporal does not have is a wrong flag, whatever is asked', async () => {
  const wrong = await temporal('nope');
  const refusal = {
    exitCode: EXIT.USAGE,
    message: expect.stringMatching(/no namespace nope.*--temporal-namespace/) as unknown,
  };

  await expect(wrong.openRollout('worker')).rejects.toMatchObject(refusal);
  await expect(wrong.start('worker')).rejects.toMatchObject(refusal);
  await expect(wrong.rollouts({ limit: 5 })).rejects.toMatchObject(refusal);
});

it('a rollout that a person paused in Temporal is named so, and takes no request', async () => {
  const workflowId = poolRolloutId('paused');
  await client.workflow.start('poolRollout', { workflowId, taskQueue: CLUSTER_QUEUE });
  await client.workflowService.pauseWorkflowExecution({
    namespace: server.namespace,
    workflowId,
    identity: 'ana',
    reason: 'a look at the machines',
    requestId: 'pause',
  });
  const cli = await temporal();
  const sentence = expect.stringContaining(
    'pool-rollout/paused is paused in Temporal by ana (a look at the machines)',
  ) as unknown;

  await expect(cli.openRollout('paused')).resolves.toEqual({ pausedInTemporal: sentence });
  for (const request of [
    () => cli.pause('paused', 'lunch'),
    () => cli.start('paused'),
    () => cli.node('retryNode', 'paused', { node: 'n1' }),
    () => cli.cancel('paused'),
  ]) {
    await expect(request()).rejects.toMatchObject({ exitCode: EXIT.PAUSED, message: sentence });
  }
});

it('a rollout whose steps nobody makes says so', async () => {
  const workflowId = poolRolloutId('idle');
  const { firstExecutionRunId } = await client.workflow.start('poolRollout', {
    ...{ workflowId, taskQueue: CLUSTER_QUEUE },
  });
  const cli = await temporal();

  await expect(cli.openRollout('idle')).resolves.toEqual({ runId: firstExecutionRunId });
  await until(
    async () => {
      const rollout = await cli.openRollout('idle');
      return rollout !== undefined && 'blocker' in rollout;
    },
    'somebody misses the worker',
    20_000,
  );
  await expect(cli.openRollout('idle')).resolves.toMatchObject({
    blocker: 'no cluster worker has picked it up yet',
  });
});

it('the updates of a pool are those that have not ended', async () => {
  await new NodeUpdates(client).start({
    ...{ node: 'n1', uid: 'uid-n1', pool: 'updating', found: 'whole' },
    ...{ poolUid: 'uid-updating', poolGeneration: 1 },
    ...{ config: { name: 'rendered-updating-1', digest: 'x' }, disruptionPolicies: {} },
    policy: DEFAULT_POLICY,
  });
  const cli = await temporal();
  await until(
    async () => (await cli.openUpdates('updating')).length > 0,
    'the update is listed',
    20_000,
  );

  await expect(cli.openUpdates('updating')).resolves.toMatchObject([
    { node: 'n1', uid: 'uid-n1', config: 'rendered-updating-1' },
  ]);
  await client.workflow.getHandle(updateNodeId('n1')).terminate();
  await until(
    async () => (await cli.openUpdates('updating')).length === 0,
    'the update has ended',
    20_000,
  );
});

it('the host worker of a node is known by the poller of its queue', async () => {
  const cli = await temporal();
  await expect(cli.hostWorker('n1')).resolves.toBeUndefined();

  const stop = new AbortController();
  const poll = client.connection.withAbortSignal(stop.signal, () =>
    client.connection.withDeadline(Date.now() + 60_000, () =>
      client.workflowService.pollActivityTaskQueue({
        namespace: server.namespace,
        taskQueue: { name: hostQueue('n1') },
        identity: `${SIMULATED_HOST}n1`,
      }),
    ),
  );
  const polled = expect(poll).rejects.toThrow('CANCELLED');
  await until(
    async () => (await cli.hostWorker('n1')) !== undefined,
    'the host worker is known',
    20_000,
  );

  await expect(cli.hostWorker('n1')).resolves.toMatchObject({
    identity: 'SIMULATED-host@n1',
    simulated: true,
  });
  stop.abort();
  await polled;
});

it('the doctor sees how long histories are, and how long tasks wait', async () => {
  const workflowId = updateNodeId('waiting');
  const handle = await client.workflow.start('updateNode', {
    ...{ workflowId, taskQueue: CLUSTER_QUEUE },
  });
  for (const number of [1, 2, 3]) await handle.signal('unknown', number);
  const doctor = await connected().doctor.temporal();
  const ofIt = async () =>
    (await doctor.histories()).find(({ workflow }) => workflow === workflowId);
  await until(async () => (await ofIt()) !== undefined, 'the workflow is listed', 20_000);

  const { events = 0, bytes = 0 } = (await ofIt()) ?? {};
  expect(events).toBeGreaterThanOrEqual(5);
  expect(bytes).toBeGreaterThan(100);
  const waiting = async () => (await doctor.backlogs())['workflow tasks'];
  await until(async () => ((await waiting())?.tasks ?? 0) > 0, 'a task waits', 20_000);
  await until(async () => ((await waiting())?.ageSeconds ?? 0) > 0, 'it waits for long', 20_000);
  await handle.terminate();
});

it('a server that goes away is out of reach', async () => {
  const cli = await temporal();
  await expect(cli.openRollout('worker')).resolves.toBeUndefined();
  await server.kill();

  await expect(cli.openRollout('worker')).rejects.toMatchObject({
    exitCode: EXIT.UNREACHABLE,
    message: expect.stringContaining(`Temporal at ${server.address} does not answer`) as unknown,
  });
  await expect(cli.pause('worker', 'lunch')).rejects.toMatchObject({
    exitCode: EXIT.UNREACHABLE,
  });
});
