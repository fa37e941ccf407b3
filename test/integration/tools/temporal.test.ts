import { Client, Connection } from '@temporalio/client';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';

jest.setTimeout(180_000);

describe('the Temporal development server', () => {
  let server: TemporalServer;
  let connection: Connection;

  beforeAll(async () => {
    server = await startTemporal({ database: true });
    connection = await Connection.connect({ address: server.address });
  });

  afterAll(async () => {
    await connection?.close();
    await server?.stop();
  });

  it('has the namespace and its search attributes', async () => {
    const { namespace } = server;

    const attributes = await connection.operatorService.listSearchAttributes({ namespace });

    const names = Object.keys(attributes.customAttributes ?? {});
    expect(names).toEqual(
      expect.arrayContaining(['SlipwayPool', 'SlipwayNode', 'SlipwayConfig', 'SlipwayOutcome']),
    );
  });

  it('serves its web UI at the namespace', async () => {
    const answer = await fetch(server.uiUrl ?? 'no UI');

    expect(answer.status).toBe(200);
    expect(server.uiUrl).toContain('/namespaces/slipway/');
  });

  it('keeps workflows over a crash and a restart on the same address', async () => {
    const client = new Client({ connection, namespace: server.namespace });
    const started = await client.workflow.start('nobodyRunsThis', {
      taskQueue: 'nobody',
      workflowId: 'survivor',
      typedSearchAttributes: [],
    });
    const { address, pid } = server;

    await server.kill();
    expect(server.memory()).toBeUndefined();
    await server.restart();

    expect(server.address).toBe(address);
    expect(server.pid).not.toBe(pid);
    const found = await client.workflow.getHandle('survivor').describe();
    expect(found.runId).toBe(started.firstExecutionRunId);
  });
});
