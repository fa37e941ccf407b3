import { Writable } from 'node:stream';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { CLUSTER_QUEUE, poolRolloutId } from '../../../core/names';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';
import { runClusterWorker } from '../../../workers/cluster/worker';
import { clusterWorkerSettings } from '../../../workers/cluster/settings';
import { createLogger } from '../../../process/logging';
import { applyManifest, eventually, startKubeFixture, type KubeFixture } from '../kube/fixture';

jest.setTimeout(300_000);

let fixture: KubeFixture;
let temporal: TemporalServer;

beforeAll(async () => {
  [fixture, temporal] = await Promise.all([
    startKubeFixture(),
    startTemporal({ ui: false, database: true }),
  ]);
});

afterAll(async () => {
  await temporal?.stop();
  await fixture?.stop();
});

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly server?: string;
  readonly metrics?: string;
}

function collected(): { readonly stream: Writable; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      for (const line of chunk.toString().trim().split('\n')) {
        lines.push(JSON.parse(line) as LogLine);
      }
      done();
    },
  });
  return { stream, lines };
}

const settings = () =>
  clusterWorkerSettings(
    {
      kubeconfig: fixture.workerKubeconfig,
      temporalAddress: temporal.address,
      temporalNamespace: temporal.namespace,
      shutdownGraceSeconds: 2,
    },
    {},
  );

async function get(url: string): Promise<{ readonly status: number; readonly body: string }> {
  const reply = await fetch(url);
  return { status: reply.status, body: await reply.text() };
}

it('waits for both servers, works when they are there, says when one goes, and stops in order', async () => {
  await temporal.kill();
  await fixture.cluster.killApiServer();
  const { stream, lines } = collected();
  const log = createLogger({ process: 'cluster-worker', level: 'info', destination: stream });
  const stopping = new AbortController();
  const running = runClusterWorker(settings(), stopping.signal, { log });
  const metrics = await eventually(() => {
    const url = lines.find(({ msg }) => msg === 'cluster worker starting')?.metrics;
    expect(url).toBeDefined();
    return url ?? '';
  });
  await eventually(async () =>
    expect(await get(`${metrics}/readyz`)).toEqual({
      status: 503,
      body: 'waiting for the Kubernetes API\n',
    }),
  );
  await fixture.cluster.startApiServer();
  await eventually(async () =>
    expect((await get(`${metrics}/readyz`)).body).toBe(
      `waiting for Temporal at ${temporal.address}\n`,
    ),
  );
  const waits = () => lines.filter(({ msg }) => msg?.includes('waiting for')).map(({ msg }) => msg);
  const once = ['Kubernetes API does not answer; waiting for it', 'waiting for server'];
  await eventually(() => expect(waits()).toEqual(once));
  await temporal.restart();
  await eventually(async () => expect((await get(`${metrics}/readyz`)).status).toBe(200));

  expect(waits()).toEqual(once);

  const connection = await Connection.connect({ address: temporal.address });
  const client = new Client({ connection, namespace: temporal.namespace });
  const rollout = client.workflow.execute('poolRollout', {
    workflowId: poolRolloutId('nowhere'),
    taskQueue: CLUSTER_QUEUE,
    args: [{ pool: 'nowhere', isWoken: true }],
  });
  await expect(rollout).rejects.toThrow(WorkflowFailedError);
  await expect(rollout).rejects.toMatchObject({ cause: { type: 'ObjectNotFound' } });
  await connection.close();
  const { body } = await get(`${metrics}/metrics`);
  expect(body).toContain('slipway_cluster_cached_objects{resource="nodes"} 0');
  expect(body).toContain(
    'slipway_cluster_activity_duration_seconds_count{activity="step",outcome="completed"}',
  );
  expect(body).toContain('temporal_');

  await temporal.kill();
  await eventually(async () =>
    expect(await get(`${metrics}/readyz`)).toEqual({
      status: 503,
      body: `waiting for Temporal at ${temporal.address}\n`,
    }),
  );
  expect(waits()).toEqual([...once, 'waiting for server']);
  await temporal.restart();
  await eventually(async () => expect((await get(`${metrics}/readyz`)).status).toBe(200));
  const answers = lines.filter(({ msg }) => msg === 'server answers').map(({ server }) => server);
  const back = `Temporal at ${temporal.address}`;
  // The API server grants rights only a moment after it answers; a check in between logs the line once more.
  expect(answers.filter((server) => server !== 'the Kubernetes API')).toEqual([back, back]);
  expect(lines.filter(({ msg }) => msg === 'Kubernetes API answers again')).toHaveLength(1);

  stopping.abort();
  await expect(running).resolves.toBeUndefined();
  expect(lines.at(-1)?.msg).toBe('cluster worker stopped');
});

it('refuses a cluster that MCO manages', async () => {
  const namespace = 'openshift-machine-config-operator';
  await applyManifest(fixture.admin, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  await applyManifest(fixture.admin, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'machine-config-controller', namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'mcc' } },
      template: {
        metadata: { labels: { app: 'mcc' } },
        spec: { containers: [{ name: 'c', image: 'none' }] },
      },
    },
  });
  const log = createLogger({ process: 'cluster-worker', level: 'silent' });

  const running = runClusterWorker(settings(), new AbortController().signal, { log });

  await expect(running).rejects.toMatchObject({
    name: 'McoPresent',
    message: expect.stringContaining(`Deployment ${namespace}/machine-config-controller`) as string,
  });
});
