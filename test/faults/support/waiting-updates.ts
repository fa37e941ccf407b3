import { bundleWorkflowCode, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { temporalClient, type TemporalServer } from '../../../tools/temporal';

const QUEUE = 'waiting-updates';
const silent = (): void => undefined;
const QUIET = {
  log: silent,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
};

/**
 * On a real Temporal server, during `work`. Maps each node to the blocker that its update names;
 * undefined = none.
 */
export async function withWaitingUpdates(
  server: TemporalServer,
  updates: Readonly<Record<string, string | undefined>>,
  work: () => Promise<void>,
): Promise<void> {
  Runtime.install({ logger: QUIET });
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: require.resolve('./waiting-update'),
    logger: QUIET,
  });
  const { address, namespace } = server;
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({ connection, namespace, taskQueue: QUEUE, workflowBundle });
  const client = await temporalClient(server);
  for (const [node, blocker] of Object.entries(updates)) {
    await client.workflow.start('waitingUpdate', {
      taskQueue: QUEUE,
      workflowId: `update-node/${node}`,
      args: blocker === undefined ? [] : [blocker],
    });
  }
  await client.connection.close();
  await worker.runUntil(work);
  await connection.close();
}
