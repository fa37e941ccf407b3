/** Secrets are planted wherever one may be; the bundle has none of them, and what a supporter needs. */

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import {
  DEPLOYMENTS,
  EVENTS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NAMESPACES,
  PODS,
} from '../../../adapters/kube/resources';
import { SECRETS } from '../../../adapters/kube/resources';
import { EXIT } from '../../../cli/exit-codes';
import { encodeDataUrl } from '../../../core/encoding';
import { CLUSTER_QUEUE, poolRolloutId } from '../../../core/names';
import { clusterOf } from '../../../tools/cluster';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import { eventually, recordedLog } from '../kube/fixture';
import { emptyCluster } from '../support/empty-cluster';
import { takeControlPlane } from '../support/taken-control-plane';
import { playKubelet, type PlayedKubelet } from './support/kubelet';
import { runCli } from './support/run-cli';

jest.setTimeout(120_000);

const plane = takeControlPlane();
let kubelet: PlayedKubelet;
let admin: KubeClient;
let server: TemporalServer;
let temporal: Client;
let directory: string;

/** Each in one place. */
const PLANTS = {
  fileContents: 'plant-file-contents',
  textFileContents: 'plant%20text%20contents',
  unitContents: 'plant-unit-contents',
  dropinContents: 'plant-dropin-contents',
  passwordHash: '$6$plantsalt$planthash',
  sshKey: 'AAAAB3NzaC1yc2EAAAADAQABplantsshkey',
  kernelArgument: 'plant-kernel-argument',
  luksKey: 'plant-luks-key',
  unknownField: 'plant-unknown-field',
  annotation: 'plant-last-applied',
  nodeAnnotation: 'plant-node-annotation',
  secretData: 'plant-secret-data',
  podEnv: 'plant-pod-env',
  podArgument: 'plant-pod-argument',
  deploymentEnv: 'plant-deployment-env',
  logPassword: 'plant-log-password',
  logBearer: 'plantlogbearer0123456789',
  logJoinToken: 'cGxhbnRsb2dqb2ludG9rZW4wMTIzNDU2Nzg5YWJjZGVm',
  logKeyLine: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQplant',
  eventUrl: 'plant-event-url',
  payload: 'plant-payload',
  payloadUrl: 'plant-payload-url',
  poolReason: 'plant-pool-reason',
  failure: 'plant-failure',
} as const;

beforeAll(async () => {
  for (const name of ['kube-apiserver', 'kube-controller-manager'] as const)
    await plane.start(name);
  await emptyCluster(plane.layout);
  directory = mkdtempSync(join(tmpdir(), 'slipway-bundle-'));
  admin = await connectKube({
    ...{ kubeconfig: plane.layout.adminKubeconfig, userAgent: 'slipway-tests', log: recordedLog() },
  });
  [kubelet, server] = await Promise.all([playKubelet(plane.layout), startTemporal({ ui: false })]);
  temporal = await temporalClient(server);
  await plantInCluster();
  await plantInTemporal();
}, 300_000);

afterAll(async () => {
  await plane.kill('kube-controller-manager');
  await kubelet?.stop();
  admin?.close();
  await temporal?.connection.close();
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function plantInCluster(): Promise<void> {
  const namespace = 'slipway';
  await admin.create(NAMESPACES, { metadata: { name: namespace } });
  await admin.create(SECRETS, {
    metadata: { name: 'slipway-server-tls', namespace },
    data: { 'tls.key': Buffer.from(PLANTS.secretData).toString('base64') },
  });
  const config = {
    ignition: { version: '3.5.0' },
    passwd: {
      users: [
        {
          name: 'core',
          passwordHash: PLANTS.passwordHash,
          sshAuthorizedKeys: [`ssh-rsa ${PLANTS.sshKey} ana`],
        },
      ],
    },
    storage: {
      files: [
        {
          path: '/etc/app.conf',
          mode: 384,
          contents: { source: encodeDataUrl(PLANTS.fileContents) },
        },
        { path: '/etc/text.conf', contents: { source: `data:,${PLANTS.textFileContents}` } },
      ],
      luks: [{ name: 'data', keyFile: { source: encodeDataUrl(PLANTS.luksKey) } }],
    },
    systemd: {
      units: [
        {
          name: 'app.service',
          contents: `[Service]\nExecStart=/bin/app ${PLANTS.unitContents}\n`,
          dropins: [
            { name: '10-env.conf', contents: `[Service]\nEnvironment=A=${PLANTS.dropinContents}` },
          ],
        },
      ],
    },
    later: { field: PLANTS.unknownField },
  };
  await admin.create(MACHINE_CONFIGS, {
    metadata: {
      name: '50-app',
      labels: { 'machineconfiguration.openshift.io/role': 'worker' },
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({
          spec: PLANTS.annotation,
        }),
      },
    },
    spec: { config, kernelArguments: [`app.key=${PLANTS.kernelArgument}`] },
  });
  await admin.create(MACHINE_CONFIG_POOLS, {
    metadata: {
      name: 'worker',
      annotations: { 'slipway.dev/paused-reason': `the password: ${PLANTS.poolReason}` },
    },
    spec: {
      machineConfigSelector: {
        matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' },
      },
      nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
      paused: true,
    },
  });
  await kubelet.addNode(admin, {
    metadata: {
      name: 'w1',
      labels: { 'node-role.kubernetes.io/worker': '' },
      annotations: { 'example.com/join-token': PLANTS.nodeAnnotation },
    },
  });
  const container = {
    ...{ name: 'main', image: 'reg.example/slipway:1' },
    args: ['cluster-worker', '--temporal-api-key', PLANTS.podArgument],
    env: [
      { name: 'GREETING', value: PLANTS.podEnv },
      { name: 'SLIPWAY_LOG_LEVEL', value: 'debug' },
    ],
  };
  await admin.create(PODS, {
    metadata: { name: 'slipway-cluster-worker-1', namespace },
    spec: { nodeName: 'w1', containers: [container] },
  } as never);
  await admin.create(DEPLOYMENTS, {
    metadata: { name: 'slipway-server', namespace },
    spec: {
      ...{ replicas: 0, selector: { matchLabels: { app: 'a' } } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: {
          containers: [
            { ...container, args: [], env: [{ name: 'TOKEN', value: PLANTS.deploymentEnv }] },
          ],
        },
      },
    },
  } as never);
  await admin.create(EVENTS, {
    metadata: { name: 'w1.1', namespace: 'default' },
    involvedObject: { kind: 'Node', name: 'w1', namespace: 'default' },
    ...{ type: 'Warning', reason: 'PullFailed', lastTimestamp: new Date().toISOString() },
    message: `cannot pull https://ana:${PLANTS.eventUrl}@reg.example/os: refused`,
  } as never);
  writeFileSync(
    kubelet.logsFile,
    [
      JSON.stringify({ level: 'info', node: 'w1', msg: 'drained the node' }),
      JSON.stringify({ level: 'error', password: PLANTS.logPassword, msg: 'refused' }),
      `request failed: authorization: Bearer ${PLANTS.logBearer}`,
      `joined with slipway-join.0123456789.${PLANTS.logJoinToken}`,
      `-----BEGIN PRIVATE KEY-----\n${PLANTS.logKeyLine}\n-----END PRIVATE KEY-----`,
    ]
      .join('\n')
      .split('\n')
      .map((line) => `${new Date().toISOString()} stdout F ${line}\n`)
      .join(''),
  );
  await eventually(async () => {
    const pod = (await admin.get(PODS, { name: 'slipway-cluster-worker-1', namespace })) as {
      status?: { phase?: string };
    };
    if (pod.status?.phase !== 'Running') throw new Error('the pod does not run yet');
  });
}

async function plantInTemporal(): Promise<void> {
  await temporal.workflow.start('poolRollout', {
    workflowId: poolRolloutId('worker'),
    taskQueue: CLUSTER_QUEUE,
    args: [
      {
        pool: 'worker',
        registry: {
          password: PLANTS.payload,
          mirror: `https://a:${PLANTS.payloadUrl}@reg.example`,
        },
      },
    ],
  });
  const failed = await temporal.workflow.start('updateNode', {
    ...{ workflowId: 'update-node/w1', taskQueue: CLUSTER_QUEUE, args: [{ node: 'w1' }] },
  });
  await failed.terminate(`a person gave up, token=${PLANTS.failure}`);
  // Visibility is a moment behind.
  await eventually(async () => {
    const query = "WorkflowType = 'updateNode' AND ExecutionStatus = 'Terminated'";
    const { count } = await temporal.workflow.count(query);
    if (count === 0) throw new Error('it is not listed yet');
  });
}

function flags(): readonly string[] {
  return [
    ...['--kubeconfig', plane.layout.adminKubeconfig],
    ...['--temporal-address', server.address, '--temporal-namespace', server.namespace],
  ];
}

async function bundled(name: string, global = flags(), more: readonly string[] = []) {
  const file = join(directory, `${name}.tar.gz`);
  const run = await runCli([...global, 'support-bundle', '--output', file, ...more]);
  const to = mkdtempSync(join(directory, `${name}-`));
  execFileSync('tar', ['-xzf', file, '-C', to]);
  const names = readdirSync(to, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(to, path)).isFile(),
  );
  const read = (path: string) => readFileSync(join(to, path), 'utf8');
  const all = names.map((path) => `${path}\n${read(path)}`).join('\n');
  return { run, file, names, read, all, manifest: JSON.parse(read('manifest.json')) as object };
}

it('a bundle has none of the secrets, and what a supporter needs', async () => {
  const { run, file, names, read, all } = await bundled('whole');

  expect(run).toMatchObject({ code: EXIT.OK, out: `${file}\n` });
  expect(run.err).not.toContain('not in it');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const found = Object.entries(PLANTS).filter(
    ([, plant]) => all.includes(plant) || all.includes(Buffer.from(plant).toString('base64')),
  );
  expect(found).toEqual([]);

  expect(names).toEqual(
    expect.arrayContaining([
      'versions.json',
      'doctor.txt',
      'kubernetes/machineconfigpools/worker.json',
      'kubernetes/nodes/w1.json',
      'kubernetes/deployments/slipway-server.json',
      'kubernetes/events/default.jsonl',
      'temporal/open.jsonl',
      'temporal/failed.jsonl',
      'manifest.json',
    ]),
  );
  const config = read('kubernetes/machineconfigs/50-app.json');
  for (const fact of [
    '/etc/app.conf',
    '"mode": 384',
    'app.service',
    '10-env.conf',
    '"core"',
    'app.key=',
  ])
    expect(config).toContain(fact);
  const logs = read('logs/slipway-cluster-worker-1/main.log');
  expect(logs).toContain('drained the node');
  expect(logs).toContain('slipway-join.0123456789.(redacted)');
  const events = read('kubernetes/events/default.jsonl');
  expect(events).toContain('https://(redacted)@reg.example/os: refused');
  const pod = read('kubernetes/pods/slipway-cluster-worker-1.json');
  expect(pod).toContain('"debug"');
  expect(read('temporal/failed.jsonl')).toContain('update-node/w1');
  const histories = names.filter((path) => path.startsWith('temporal/histories/'));
  expect(histories).toHaveLength(2);
  const told = histories.map(read).join('');
  expect(told).toContain('"pool":"worker"');
  expect(told).toContain('a person gave up');
  expect(JSON.parse(read('versions.json'))).toMatchObject({
    kubernetes: { gitVersion: expect.stringMatching(/^v1\./) as unknown },
    temporal: expect.stringMatching(/^1\./) as unknown,
  });
});

it('without Temporal it has the cluster, and says what it lacks', async () => {
  const global = [...flags(), '--temporal-address', '127.0.0.1:1'];
  const { run, names, manifest } = await bundled('without-temporal', global);

  expect(run.code).toBe(EXIT.OK);
  expect(run.err).toContain('not in it: everything in Temporal');
  expect(names).toContain('kubernetes/nodes/w1.json');
  expect(manifest).toMatchObject({
    leftOut: expect.arrayContaining([
      expect.objectContaining({ what: 'everything in Temporal' }),
    ]) as unknown,
  });
});

it('without an API server it has Temporal; without both it says so and exits with 9', async () => {
  const away = join(directory, 'away.kubeconfig');
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'a' },
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    users: [{ name: 'a', user: {} }],
  };
  writeFileSync(away, JSON.stringify(kubeconfig));
  const cut = await bundled('without-api-server', [...flags(), '--kubeconfig', away]);
  expect(cut.run.code).toBe(EXIT.OK);
  expect(cut.names).toContain('temporal/failed.jsonl');
  expect(cut.run.err).toContain('not in it: everything in Kubernetes');

  const lone = await bundled('alone', [
    ...[...flags(), '--kubeconfig', away],
    ...['--temporal-address', '127.0.0.1:1'],
  ]);
  expect(lone.run.code).toBe(EXIT.UNREACHABLE);
  expect(lone.names).toContain('versions.json');
});

it('names what it may not read', async () => {
  const kubeconfig = await nobodysKubeconfig();
  const { run, manifest, names } = await bundled('nobody', [
    ...flags(),
    '--kubeconfig',
    kubeconfig,
  ]);

  expect(run.code).toBe(EXIT.OK);
  expect(names).not.toContain('kubernetes/nodes/w1.json');
  expect(manifest).toMatchObject({
    leftOut: expect.arrayContaining([
      {
        what: 'nodes',
        why: expect.stringContaining('User "nobody" cannot list resource "nodes"') as unknown,
      },
    ]) as unknown,
  });
});

/** Somebody without rights. */
function nobodysKubeconfig(): Promise<string> {
  const processes = { startOne: plane.start, killOne: plane.kill, endOne: plane.end };
  const nothing = () => Promise.resolve();
  const hands = { ...processes, start: nothing, stop: nothing, running: () => [] };
  return clusterOf(plane.layout, hands, nothing).kubeconfigFor({ commonName: 'nobody' });
}

it('stays under the size that is asked for, and names what had no room', async () => {
  const paths = () =>
    Array.from({ length: 6_000 }, () => ({
      path: `/etc/${randomUUID()}`,
      contents: { source: 'data:,' },
    }));
  for (let index = 0; index < 9; index++) {
    await admin.create(MACHINE_CONFIGS, {
      metadata: { name: `60-many-${index}` },
      spec: { config: { ignition: { version: '3.5.0' }, storage: { files: paths() } } },
    });
  }
  const { file, run, manifest } = await bundled('small', flags(), ['--limit', '1MiB']);

  expect(run.code).toBe(EXIT.OK);
  expect(statSync(file).size).toBeLessThanOrEqual(1024 * 1024);
  expect(manifest).toMatchObject({
    leftOut: expect.arrayContaining([
      expect.objectContaining({ why: expect.stringContaining('--limit') as unknown }),
    ]) as unknown,
  });
});
