import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { newPayloadKeys } from '../../../tools/payload-keys';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';

jest.setTimeout(180_000);

describe('the Temporal development server', () => {
  let server: TemporalServer;
  let connection: Connection;
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'slipway-temporal-test-'));
    server = await startTemporal({ database: true, payloadKeys: newPayloadKeys(directory) });
    connection = await Connection.connect({ address: server.address });
  });

  afterAll(async () => {
    await connection?.close();
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
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

  it('lets the page of its UI decode, without a login, and no other page', async () => {
    const client = await temporalClient(server);
    const { workflowId } = await client.workflow.start('nobodyRunsThis', {
      ...{ taskQueue: 'nobody', workflowId: 'encoded', args: ['a word'] },
    });
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
    await client.connection.close();
    const [sealed] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const { origin } = new URL(server.uiUrl ?? '');
    const settings = (await (await fetch(`${origin}/api/v1/settings`)).json()) as UiSettings;

    expect(await decode(settings.Codec.Endpoint, origin, sealed)).toEqual([200, '"a word"']);
    expect(await decode(settings.Codec.Endpoint, 'http://127.0.0.1', sealed)).toEqual([403, '']);
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

interface UiSettings {
  readonly Codec: { readonly Endpoint: string };
}

/** @returns the status, and the data of the payload */
async function decode(
  endpoint: string,
  origin: string,
  { metadata, data }: Payload = {},
): Promise<readonly [number, string]> {
  const base64 = (bytes: Uint8Array | null | undefined) =>
    Buffer.from(bytes ?? []).toString('base64');
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]);
  const payload = { metadata: Object.fromEntries(fields) as object, data: base64(data) };
  const answer = await fetch(`${endpoint}/decode`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ payloads: [payload] }),
  });
  const { payloads } = (await answer.json()) as { payloads?: readonly { data: string }[] };
  return [answer.status, Buffer.from(payloads?.[0]?.data ?? '', 'base64').toString()];
}
