/** Temporal decides whether an attempt is still awaited, not the process that runs it. */

import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import type { ActivityRun } from '../../activities/cluster/ports';
import { currentRun } from '../../activities/cluster/activity-run';
import { CLUSTER_QUEUE, poolRolloutId, STEP_QUEUE } from '../../core/names';
import { startTemporal, type TemporalServer } from '../../tools/temporal';
import { installTemporalRuntime } from '../../process/temporal/runtime';
import type { PoolRolloutInput, StepResult } from '../../workflows/contracts/rollout';
import { workflowBundle } from './support/bundle';

jest.setTimeout(120_000);

let server: TemporalServer;
let native: NativeConnection;
let connection: Connection;

beforeAll(async () => {
  installTemporalRuntime(pino({ level: 'silent' }));
  server = await startTemporal({ ui: false });
  native = await NativeConnection.connect({ address: server.address });
  connection = await Connection.connect({ address: server.address });
});

afterAll(async () => {
  await connection?.close();
  await native?.close();
  await server?.stop();
});

it('waits for the last attempt of a step only, and for none when its workflow has ended', async () => {
  const runs: ActivityRun[] = [];
  const awaited: boolean[][] = [];
  const ask = async (): Promise<void> => {
    awaited.push(await Promise.all(runs.map((run) => run.isAwaited())));
  };
  const step = async (): Promise<StepResult> => {
    runs.push(currentRun());
    await ask();
    if (runs.length === 1) throw new Error('the server counts on');
    return {
      ...{ state: 'Cancelling', updated: '0 of 0', granted: [], grantedCount: 0 },
      ...{ ended: 'pool deleted', lookAgainSeconds: 10, versions: {} },
    };
  };
  const shared = { connection: native, namespace: server.namespace };
  const workflows = await Worker.create({
    ...{ ...shared, taskQueue: CLUSTER_QUEUE },
    workflowBundle: { codePath: await workflowBundle() },
  });
  const steps = await Worker.create({ ...shared, taskQueue: STEP_QUEUE, activities: { step } });

  const rollout = async (): Promise<void> => {
    const input: PoolRolloutInput = { pool: 'nowhere', isWoken: true };
    const { workflow } = new Client({ connection, namespace: server.namespace });
    const ended = workflow.execute('poolRollout', {
      ...{ workflowId: poolRolloutId('nowhere'), taskQueue: CLUSTER_QUEUE },
      args: [input],
    });
    await expect(ended).rejects.toThrow(WorkflowFailedError);
    await ask();
  };
  await workflows.runUntil(() => steps.runUntil(rollout));

  expect(awaited).toEqual([[true], [false, true], [false, false]]);
});
