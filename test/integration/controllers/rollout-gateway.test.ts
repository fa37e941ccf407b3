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
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import { UNREPLAYABLE_FAILS } from '../../../workers/cluster/unreplayable';
import { endSignal, toldQuery } from './waiting-rollout';

// A call that Temporal does not answer ends with its own deadline, and two tests wait for some.
jest.setTimeout(180_000);

let server: TemporalServer;
let bundle: WorkflowBundle;
let bundleOfLater: WorkflowBundle;
let rollouts: RolloutConnection;
let client: Client;

/** Versions in the controllers' cache. */
const SEEN = { nodes: 12, pools: 7, policies: 0 };

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
  [server, bundle, bundleOfLater] = await Promise.all([
    startTemporal({ ui: false }),
    bundled(require.resolve('./waiting-rollout')),
    bundled(require.resolve('./sleeping-rollout')),
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

it('starts the one rollout of a pool, with what people see of it, and retargets it later', async () => {
  await withWorker(async () => {
    await rollouts.gateway.start('worker', 'rendered-worker-1', SEEN);
    expect(await rollouts.gateway.retarget('worker', 'rendered-worker-2', SEEN)).toBe(true);

    expect(await rolloutOf('worker').query(toldQuery)).toEqual([
      `retarget worker rendered-worker-1 ${JSON.stringify(SEEN)}`,
      `retarget worker rendered-worker-2 ${JSON.stringify(SEEN)}`,
    ]);
    const described = await rolloutOf('worker').describe();
    expect(await described.staticSummary()).toBe('roll pool worker to its rendered config');
    expect(described.typedSearchAttributes.getAll()).toContainEqual(
      expect.objectContaining({ value: 'worker' }),
    );
  });
});

it('wakes an open rollout, and says when none is open', async () => {
  await withWorker(async () => {
    await rollouts.gateway.start('infra', 'rendered-infra-1', SEEN);

    expect(await rollouts.gateway.wake('infra', { reason: 'node n1 joined', versions: SEEN })).toBe(
      true,
    );
    expect(await rollouts.gateway.isOpen('infra')).toBe(true);
    expect(await rolloutOf('infra').query(toldQuery)).toContain(
      `wake: node n1 joined ${JSON.stringify(SEEN)}`,
    );

    await rolloutOf('infra').signal(endSignal);
    await rolloutOf('infra').result();
    expect(await rollouts.gateway.wake('infra', { reason: 'late', versions: SEEN })).toBe(false);
    expect(await rollouts.gateway.isOpen('infra')).toBe(false);
    expect(await rollouts.gateway.retarget('infra', 'rendered-infra-2', SEEN)).toBe(false);
    expect(await rollouts.gateway.retarget('never', 'rendered-never-1', SEEN)).toBe(false);
    expect(await rollouts.gateway.isOpen('never')).toBe(false);
  });
});

it('passes on what a rollout that is ending refuses', async () => {
  await withWorker(async () => {
    await rollouts.gateway.start('ending', 'rendered-ending-1', SEEN);

    await expect(rollouts.gateway.retarget('ending', 'refused', SEEN)).rejects.toMatchObject({
      name: 'RefusedRequest',
      message: expect.stringContaining('it is ending') as string,
    });
  });
});

it('ends a rollout whose history does not fit the worker that gets the target with it', async () => {
  const { gateway } = rollouts;
  await withWorker(() => gateway.start('stuck', 'rendered-stuck-1', SEEN));
  const stuck = client.workflow.getHandle(
    poolRolloutId('stuck'),
    (await rolloutOf('stuck').describe()).runId,
  );

  await withWorker(async () => {
    // Each call that is not answered ends with its deadline, as the controllers repeat it.
    const aim = () => gateway.retarget('stuck', 'rendered-stuck-2', SEEN).catch(() => true);
    while (await aim());
    await gateway.start('stuck', 'rendered-stuck-2', SEEN);
  }, bundleOfLater);

  expect((await stuck.describe()).status.name).toBe('TERMINATED');
  expect(await gateway.isOpen('stuck')).toBe(true);
});

it('starts again after Temporal has lost everything', async () => {
  await withWorker(() => rollouts.gateway.start('lost', 'rendered-lost-1', SEEN));
  await server.kill();
  await expect(rollouts.gateway.isOpen('lost')).rejects.toThrow();

  await server.restart();
  await withWorker(async () => {
    await untilAnswers(() => rollouts.gateway.isOpen('lost'));
    expect(await rollouts.gateway.isOpen('lost')).toBe(false);
    await rollouts.gateway.start('lost', 'rendered-lost-1', SEEN);
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
