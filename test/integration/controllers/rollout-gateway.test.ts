import type { Client } from '@temporalio/client';
import {
  bundleWorkflowCode,
  NativeConnection,
  Runtime,
  Worker,
  type WorkflowBundle,
} from '@temporalio/worker';
import { createLogger } from '../../../process/logging';
import { connectRollouts, type RolloutConnection } from '../../../controllers/rollout';
import { controllerSettings } from '../../../controllers/settings';
import { CLUSTER_QUEUE, poolRolloutId } from '../../../core/names';
import { startByPerson } from '../../../process/temporal/start-rollout';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import { UNREPLAYABLE_FAILS } from '../../../workers/cluster/unreplayable';
import { until } from '../tools/until';
import { endSignal, toldQuery } from './waiting-rollout';

// A call that Temporal does not answer ends with its own deadline, and two tests wait for some.
jest.setTimeout(180_000);

let server: TemporalServer;
let bundle: WorkflowBundle;
let bundleOfBroken: WorkflowBundle;
let rollouts: RolloutConnection;
let client: Client;

/** Versions in the controllers' cache. */
const SEEN = { nodes: 12, pools: 7 };

const silent = (): void => undefined;
const QUIET = {
  log: silent,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
};

beforeAll(async () => {
  Runtime.install({ logger: QUIET });
  const bundled = (workflowsPath: string) => bundleWorkflowCode({ workflowsPath, logger: QUIET });
  [server, bundle, bundleOfBroken] = await Promise.all([
    startTemporal({ ui: false }),
    bundled(require.resolve('./waiting-rollout')),
    bundled(require.resolve('./broken-rollout')),
  ]);
  rollouts = connectRollouts(
    controllerSettings({ temporalAddress: server.address }, {}),
    createLogger({ process: 'test', level: 'silent' }),
  );
  client = await temporalClient(server);
}, 300_000);

afterAll(async () => {
  await rollouts.close();
  await client.connection.close();
  await server.stop();
});

async function withWorker(work: () => Promise<void>, workflowBundle = bundle): Promise<void> {
  const connection = await NativeConnection.connect({ address: server.address });
  const worker = await Worker.create({
    connection,
    namespace: server.namespace,
    taskQueue: CLUSTER_QUEUE,
    workflowBundle,
    ...UNREPLAYABLE_FAILS,
  });
  await worker.runUntil(work());
  await connection.close();
}

const rolloutOf = (pool: string) => client.workflow.getHandle(poolRolloutId(pool));

it('starts the one rollout of a pool, with what people see of it, and wakes it later', async () => {
  await withWorker(async () => {
    await rollouts.gateway.wake('worker', SEEN);
    await rollouts.gateway.wake('worker', { nodes: 13 });

    expect(await rolloutOf('worker').query(toldQuery)).toEqual([
      'started {"pool":"worker","isWoken":true}',
      `wake {"atLeast":${JSON.stringify(SEEN)}}`,
      'wake {"atLeast":{"nodes":13}}',
    ]);
    const described = await rolloutOf('worker').describe();
    expect(await described.staticSummary()).toBe('roll pool worker to its rendered config');
    expect(described.typedSearchAttributes.getAll()).toContainEqual(
      expect.objectContaining({ value: 'worker' }),
    );
  });
});

it('says whether a rollout is open', async () => {
  await withWorker(async () => {
    expect(await rollouts.gateway.isOpen('infra')).toBe(false);
    await rollouts.gateway.wake('infra', SEEN);
    expect(await rollouts.gateway.isOpen('infra')).toBe(true);

    await rolloutOf('infra').signal(endSignal);
    await rolloutOf('infra').result();
    expect(await rollouts.gateway.isOpen('infra')).toBe(false);
  });
});

it('is started by a person, who gets the answer', async () => {
  await withWorker(async () => {
    const answer = await startByPerson(client.workflow, 'asked', { reason: 'now' });

    expect(answer).toMatchObject({ state: 'Rolling' });
    expect(await rolloutOf('asked').query(toldQuery)).toEqual([
      'started {"pool":"asked"}',
      'start: now',
    ]);
  });
});

it('ends a rollout whose task fails again and again, so that the next wake starts another', async () => {
  const { gateway } = rollouts;
  await withWorker(async () => {
    await gateway.wake('stuck', SEEN);
    const { runId } = await rolloutOf('stuck').describe();
    expect(await gateway.isOpen('stuck')).toBe(true);

    await until(async () => !(await gateway.isOpen('stuck')), 'it is ended', 120_000);

    const stuck = client.workflow.getHandle(poolRolloutId('stuck'), runId);
    expect((await stuck.describe()).status.name).toBe('TERMINATED');
    await gateway.wake('stuck', SEEN);
    expect(await gateway.isOpen('stuck')).toBe(true);
  }, bundleOfBroken);
});

it('starts again after Temporal has lost everything', async () => {
  await withWorker(() => rollouts.gateway.wake('lost', SEEN));
  await server.kill();
  await expect(rollouts.gateway.isOpen('lost')).rejects.toThrow();

  await server.restart();
  await withWorker(async () => {
    await untilAnswers(() => rollouts.gateway.isOpen('lost'));
    expect(await rollouts.gateway.isOpen('lost')).toBe(false);
    await rollouts.gateway.wake('lost', SEEN);
    expect(await rollouts.gateway.isOpen('lost')).toBe(true);
  });
});

/** The connection recovers by itself, some time later. */
async function untilAnswers(ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch {
      // still away
    }
  }
}
