/** Temporal decides whether an attempt is still awaited, not the process that runs it. */

import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import type { ActivityRun } from '../../activities/cluster/ports';
import { currentRun } from '../../activities/cluster/activity-run';
import { CLUSTER_QUEUE, poolRolloutId } from '../../core/names';
import { startTemporal, type TemporalServer } from '../../tools/temporal';
import { installTemporalRuntime } from '../../process/temporal/runtime';
import type { SelectNodesResult } from '../../workflows/contracts/cluster';
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
  const selectNodes = async (): Promise<SelectNodesResult> => {
    runs.push(currentRun());
    await ask();
    if (runs.length === 1) throw new Error('the server counts on');
    return { exists: false };
  };
  const { namespace } = server;
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue: CLUSTER_QUEUE,
    workflowBundle: { codePath: await workflowBundle() },
    activities: { selectNodes },
  });

  await worker.runUntil(async () => {
    const rollout = new Client({ connection, namespace }).workflow.execute('poolRollout', {
      workflowId: poolRolloutId('nowhere'),
      taskQueue: CLUSTER_QUEUE,
      args: [{ pool: 'nowhere' }],
    });
    await expect(rollout).rejects.toThrow(WorkflowFailedError);
    await ask();
  });

  expect(awaited).toEqual([[true], [false, true], [false, false]]);
});
