/** Faults between a process and Temporal: a missing namespace, a renewed certificate. */

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { openConnections } from '../../../cli/connections';
import { controllerSettings } from '../../../controllers/settings';
import { runControllers } from '../../../controllers/main';
import { CLUSTER_QUEUE, hostQueue, poolRolloutId } from '../../../core/names';
import {
  CertificateUse,
  type Credentials,
  issueCertificate,
  newAuthority,
} from '../../../tools/cluster/certificates';
import { freePorts } from '../../../tools/processes/free-ports';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';
import { runClusterWorker } from '../../../workers/cluster/worker';
import { clusterWorkerSettings } from '../../../workers/cluster/settings';
import { runHostWorker } from '../../../workers/host/worker';
import { createLogger } from '../../../process/logging';
import { startKubeFixture, type KubeFixture } from '../kube/fixture';
import { until } from '../tools/until';
import { startTlsFront, type TlsFront } from './tls-front';

jest.setTimeout(300_000);

const log = createLogger({ process: 'test', level: 'silent' });
const directory = mkdtempSync(join(tmpdir(), 'slipway-renewed-'));
const mounted = join(directory, 'temporal');
const stop = new AbortController();
let kube: KubeFixture;
let temporal: TemporalServer;
let front: TlsFront;
let client: Client;
let old: Credentials;
let renewed: Credentials;
let running: Promise<unknown>;
/** Health URLs of cluster worker and controllers. */
let processes: readonly string[];

beforeAll(async () => {
  [kube, temporal, old, renewed] = await Promise.all([
    startKubeFixture(),
    startTemporal({ ui: false, namespace: 'other', searchAttributes: [] }),
    newAuthority('old authority'),
    newAuthority('renewed authority'),
  ]);
  const server = await issueCertificate(old, {
    subject: { commonName: 'temporal' },
    use: CertificateUse.SERVER,
    addresses: ['temporal'],
  });
  front = await startTlsFront(temporal.address, server, old);
  client = new Client({
    connection: await Connection.connect({ address: temporal.address }),
    namespace: 'slipway',
  });
  await mount('old', old);
  await startProcesses();
});

afterAll(async () => {
  stop.abort();
  await running;
  await front?.close();
  await client?.connection.close();
  await temporal?.stop();
  await kube?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** As the kubelet mounts a Secret: in its own directory, with a link that is switched to it. */
async function mount(commonName: string, authority: Credentials): Promise<void> {
  const found = await issueCertificate(authority, {
    subject: { commonName },
    use: CertificateUse.CLIENT,
  });
  const files = { 'tls.crt': found.certificate, 'tls.key': found.key, 'ca.crt': old.certificate };
  mkdirSync(join(mounted, commonName), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(mounted, commonName, name), text);
  }
  symlinkSync(commonName, join(mounted, '..data_tmp'));
  renameSync(join(mounted, '..data_tmp'), join(mounted, '..data'));
}

async function startProcesses(): Promise<void> {
  const [worker = 0, controllers = 0] = await freePorts(2);
  const shared = {
    temporalAddress: front.address,
    temporalTlsCa: join(mounted, '..data', 'ca.crt'),
    temporalTlsCert: join(mounted, '..data', 'tls.crt'),
    temporalTlsKey: join(mounted, '..data', 'tls.key'),
    temporalTlsServerName: 'temporal',
  };
  const { signal } = stop;
  const kubeconfig = kube.workerKubeconfig;
  running = Promise.all([
    runClusterWorker(
      clusterWorkerSettings(
        { ...shared, metricsPort: worker, kubeconfig, shutdownGraceSeconds: 1 },
        {},
      ),
      signal,
      { log },
    ),
    runControllers(
      controllerSettings(
        { ...shared, metricsPort: controllers, kubeconfig: kube.cluster.adminKubeconfig },
        {},
      ),
      signal,
      { log },
    ),
    runHostWorker(
      {
        ...shared,
        nodes: 'w-1',
        baseDirectory: join(directory, 'hosts'),
        credentialsDirectory: directory,
        authorityFile: join(mounted, '..data', 'ca.crt'),
        serverUrl: 'https://127.0.0.1:1',
        logLevel: 'silent',
      },
      signal,
    ),
  ]);
  const url = (port: number): string => `http://127.0.0.1:${port}`;
  processes = [url(worker), url(controllers)];
}

async function untilAllSay(path: string, answer: RegExp): Promise<void> {
  const isSo = async (): Promise<boolean> =>
    (await health(path)).every((said) => answer.test(said));
  await until(isSo, `${path} of all is ${String(answer)}`, 120_000);
}

async function health(path: string): Promise<readonly string[]> {
  const said = async (url: string): Promise<string> => {
    const reply = await fetch(`${url}${path}`);
    return `${reply.status} ${(await reply.text()).trim()}`;
  };
  return Promise.all(processes.map((url) => said(url).catch(() => 'not there yet')));
}

it('all say what makes a namespace that is missing, and go on when it is there', async () => {
  await untilAllSay(
    '/readyz',
    /^503 .*the namespace slipway in Temporal at [\d.:]+ \(run slipway setup temporal\)$/,
  );
  expect(await health('/healthz')).toEqual(['200 ok', '200 ok']);

  const flags = { color: false, temporalAddress: temporal.address };
  const connections = openConnections(flags, {}, stop.signal);
  const setup = await connections.temporalSetup();
  await setup.namespace(undefined);
  await setup.searchAttributes();
  await connections.close();

  await untilAllSay('/readyz', /^200 ok$/);
  await until(async () => (await lastPoll('w-1')) > 0, 'the host asks for work', 120_000);
});

it('all take up a certificate that is renewed when the old one is refused, and are not ready meanwhile', async () => {
  await untilAllSay('/readyz', /^200 ok$/);
  expect(new Set(front.clients())).toEqual(new Set(['old']));

  front.onlyTrust(renewed);
  await untilAllSay('/readyz', /^503 waiting for Temporal at [\d.:]+$/);
  expect(await health('/healthz')).toEqual(['200 ok', '200 ok']);

  const renewedAt = Date.now();
  await mount('renewed', renewed);
  await untilAllSay('/readyz', /^200 ok$/);
  expect(new Set(front.clients())).toEqual(new Set(['renewed']));

  // Workers and clients go on working, too.
  const rollout = client.workflow.execute('poolRollout', {
    workflowId: poolRolloutId('nowhere'),
    taskQueue: CLUSTER_QUEUE,
    args: [{ pool: 'nowhere' }],
  });
  await expect(rollout).rejects.toMatchObject({ cause: { type: 'ObjectNotFound' } });
  await until(async () => (await lastPoll('w-1')) > renewedAt, 'the host asks for work', 120_000);
});

/** Time of the host's last poll, in milliseconds. */
async function lastPoll(node: string): Promise<number> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: hostQueue(node) },
    taskQueueType: 2,
  });
  const times = (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0));
  return Math.max(0, ...times) * 1000;
}
