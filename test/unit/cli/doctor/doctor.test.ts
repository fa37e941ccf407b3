import { X509Certificate } from 'node:crypto';
import { doctor } from '../../../../cli/commands/doctor';
import type { DoctorCluster, DoctorTemporal } from '../../../../cli/doctor/ports';
import { CRDS } from '../../../../cli/doctor/kubernetes';
import { PROCESS_NAMES } from '../../../../cli/doctor/access-rules';
import { EXIT, type ExitCode } from '../../../../cli/exit-codes';
import { openTerminal } from '../../../../cli/terminal';
import type { ClusterView } from '../../../../cli/ports';
import { certificates } from '../../../../cli/doctor/certificates';
import { fail } from '../../../../core/errors';
import { TEST_KEY } from '../../../support/signed-orders';
import { LABEL } from '../../../../core/names';
import type { MachineConfigNode } from '../../../../core/node/types';
import type { OperatorStatus } from '../../../../core/operator-status';
import { VERSION } from '../../../../process/version';
import { issueServing } from '../../../../adapters/certificates/issue';
import { newAuthority } from '../../../../tools/cluster/certificates';
import { aPool } from '../../core/pool/builders';
import { old } from '../../core/rollout/rollout-pool';
import { aView } from '../cluster-view';

/** The certificates begin now. */
const NOW = Date.now();
const after = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();
const AT = after(0);

const worker = (name: string) => {
  const node = old(name);
  return { ...node, metadata: { ...node.metadata, labels: { [LABEL.WORKER]: '' } } };
};
const POOL = aPool({ nodeSelector: { matchLabels: { [LABEL.WORKER]: '' } } });
const VIEW = aView({ pools: [POOL], nodes: [worker('w1'), worker('w2')] });

let key = '';
let pem: string;
beforeAll(async () => {
  ({ certificate: pem, key } = await newAuthority('slipway-test'));
});

const HEALTHY_TEMPORAL: DoctorTemporal = {
  ...{ address: '127.0.0.1:7233', namespace: 'slipway' },
  version: () => Promise.resolve('1.31.2'),
  missing: () => Promise.resolve([]),
  clusterWorkers: () => Promise.resolve({ 'workflow tasks': 2, activities: 2 }),
  backlogs: () => Promise.resolve({ activities: { tasks: 3, ageSeconds: 1 } }),
  histories: () => Promise.resolve([{ workflow: 'update-node/w1', events: 90, bytes: 9_000 }]),
  hasHostWorker: () => Promise.resolve(true),
};

function healthyCluster(): DoctorCluster {
  return {
    server: 'https://127.0.0.1:6443',
    version: () => Promise.resolve('v1.36.3'),
    whoAmI: () => Promise.resolve({ user: 'ana', at: AT }),
    crds: () =>
      Promise.resolve(
        [...CRDS].map(([name, version]) => ({
          ...{ name, isEstablished: true },
          servedVersions: [version],
        })),
      ),
    deployments: () =>
      Promise.resolve(
        PROCESS_NAMES.map((name) => ({ name, wanted: 2, ready: 2, images: ['slipway:0.2.0'] })),
      ),
    mayDo: () => Promise.resolve(true),
    nodeLeases: () => Promise.resolve([{ node: 'w1', renewedAt: AT }]),
    serverCertificate: () => Promise.resolve(pem),
    serverAuthorities: () => Promise.resolve(pem),
    orderKeys: () => Promise.resolve(TEST_KEY.published['keys.json']),
    installerSettings: () => Promise.resolve(undefined),
    serverNames: () => Promise.resolve([]),
    serverPorts: () => Promise.resolve([]),
    refusalOf: () => Promise.resolve(undefined),
    clientAuthorities: () => Promise.resolve(pem),
    operatorStatus: () => Promise.resolve(statusWith([])),
    hasForeignOperator: () => Promise.resolve(false),
    mco: () => Promise.resolve(undefined),
  };
}

function statusWith(conditions: OperatorStatus['conditions']): OperatorStatus {
  return {
    ...{ message: 'all is as expected', since: AT, conditions, versions: [], components: [] },
    hostWorkers: { reported: 0, neverReported: 0, versions: [] },
    ...{ pools: {}, relatedObjects: [] },
  };
}

const DEGRADED = {
  type: 'Degraded',
  status: 'True',
  reason: 'RequiredPoolsFailed',
  message: 'pool worker is degraded: disk full',
} as const;

interface Scene {
  readonly cluster?: Partial<DoctorCluster>;
  readonly temporal?: Partial<DoctorTemporal> | Error;
  readonly view?: ClusterView | Error;
}

async function examined({ cluster = {}, temporal = {}, view = VIEW }: Scene = {}) {
  let text = '';
  const sink = { isTTY: false, columns: 80, write: (more: string) => (text += more) };
  const code = await doctor(
    {
      terminal: openTerminal({ out: sink, err: sink }, { color: false, env: {} }),
      now: () => NOW,
      cluster: () =>
        Promise.resolve({
          read: () => (view instanceof Error ? Promise.reject(view) : Promise.resolve(view)),
        }),
      doctor: {
        cluster: () => Promise.resolve({ ...healthyCluster(), ...cluster }),
        temporal: () =>
          temporal instanceof Error
            ? Promise.reject(temporal)
            : Promise.resolve({ ...HEALTHY_TEMPORAL, ...temporal }),
      },
    },
    'table',
  );
  const said = text.split('\n');
  return { code, said, wrong: said.filter((line) => /^(PROBLEM|WARNING)/.test(line)) };
}

it('says what is well', async () => {
  const { code, said, wrong } = await examined();

  expect([code, wrong]).toEqual([EXIT.OK, []]);
  expect(said).toContain('ok       Kubernetes at https://127.0.0.1:6443: v1.36.3; you are ana');
  expect(said).toContain('0 problems, 0 warnings');
});

const historyOf = (size: { readonly events?: number; readonly bytes?: number }) => () =>
  Promise.resolve([{ workflow: 'update-node/w1', events: 90, bytes: 9_000, ...size }]);
const CRD = 'poolrollouts.slipway.dev';
const AHEAD = after(9);
const STALE = after(-120);
const MANY = ['w1', 'w2', 'w3', 'w4'].map(worker);

it.each<[string, Scene, string, ExitCode]>([
  [
    'an old cluster',
    { cluster: { version: () => Promise.resolve('v1.29.4') } },
    'WARNING  Kubernetes at https://127.0.0.1:6443: v1.29.4 is older than 1.36, with which Slipway is tested',
    EXIT.OK,
  ],
  [
    'a kind that is not there',
    {
      cluster: {
        crds: async () => (await healthyCluster().crds()).filter(({ name }) => name !== CRD),
      },
    },
    `PROBLEM  customresourcedefinition ${CRD}: is not installed`,
    EXIT.FAILED,
  ],
  [
    'a process that is not there',
    {
      cluster: {
        deployments: async () => (await healthyCluster().deployments()).slice(1),
      },
    },
    'PROBLEM  deployment slipway/slipway-controllers: is not there',
    EXIT.FAILED,
  ],
  [
    'what a process may not do',
    {
      cluster: {
        mayDo: (user, { verb, resource }) =>
          Promise.resolve(
            !(user.endsWith('slipway-server') && verb === 'patch' && resource === 'secrets'),
          ),
      },
    },
    'PROBLEM  serviceaccount slipway/slipway-server: may not patch secrets -n slipway-join',
    EXIT.FAILED,
  ],
  [
    'that only an administrator can be told',
    { cluster: { mayDo: () => Promise.reject(fail('ApiForbidden', 'no')) } },
    'WARNING  serviceaccounts of slipway: you may not ask what they may do (create subjectaccessreviews)',
    EXIT.OK,
  ],
  [
    'that the system is degraded',
    { cluster: { operatorStatus: () => Promise.resolve(statusWith([DEGRADED])) } },
    'PROBLEM  slipway cluster: Degraded is True (RequiredPoolsFailed): pool worker is degraded: disk full',
    EXIT.FAILED,
  ],
  [
    'that nobody writes the status of the system',
    { cluster: { operatorStatus: () => Promise.resolve(undefined) } },
    'PROBLEM  slipway cluster: has no status: no controllers lead, or they may not write it',
    EXIT.FAILED,
  ],
  [
    'a ClusterOperator of another program',
    { cluster: { hasForeignOperator: () => Promise.resolve(true) } },
    'WARNING  clusteroperator slipway: is of another program, so Slipway does not write its status there',
    EXIT.OK,
  ],
  [
    'the Machine Config Operator',
    { cluster: { mco: () => Promise.resolve('ClusterOperator machine-config') } },
    "PROBLEM  ClusterOperator machine-config: belongs to OpenShift's Machine Config Operator, which changes the same nodes",
    EXIT.FAILED,
  ],
  [
    'a Temporal that lacks something',
    { temporal: { missing: () => Promise.resolve(['the namespace slipway']) } },
    'PROBLEM  Temporal at 127.0.0.1:7233: lacks the namespace slipway',
    EXIT.FAILED,
  ],
  [
    'a Temporal that does not answer, once',
    { temporal: new Error('Temporal at 127.0.0.1:7233 does not answer') },
    'PROBLEM  Temporal: Temporal at 127.0.0.1:7233 does not answer',
    EXIT.FAILED,
  ],
  [
    'that no cluster worker runs',
    { temporal: { clusterWorkers: () => Promise.resolve({ 'workflow tasks': 0, activities: 1 }) } },
    'PROBLEM  cluster workers: none has asked Temporal for workflow tasks in the last minutes',
    EXIT.FAILED,
  ],
  [
    'that fewer cluster workers ask than are ready',
    { temporal: { clusterWorkers: () => Promise.resolve({ 'steps of rollouts': 1 }) } },
    'WARNING  cluster workers: 1 of 2 ask for steps of rollouts',
    EXIT.OK,
  ],
  [
    'that tasks wait for a cluster worker',
    {
      temporal: { backlogs: () => Promise.resolve({ activities: { tasks: 40, ageSeconds: 31 } }) },
    },
    'WARNING  cluster workers: 40 activities wait, the oldest for 31 s: they are too few, or they hang',
    EXIT.OK,
  ],
  [
    'a history with many events',
    { temporal: { histories: historyOf({ events: 10_000 }) } },
    'WARNING  workflow update-node/w1: its history has 10000 events, 1 MiB; Temporal ends it at 51200 events or 50 MiB',
    EXIT.OK,
  ],
  [
    'a large history',
    { temporal: { histories: historyOf({ bytes: 10 * 1024 * 1024 }) } },
    'WARNING  workflow update-node/w1: its history has 90 events, 10 MiB; Temporal ends it at 51200 events or 50 MiB',
    EXIT.OK,
  ],
  [
    'a node in no pool',
    { view: aView({ pools: [POOL], nodes: [worker('w1'), old('w2')] }) },
    'WARNING  node w2: is in no pool',
    EXIT.OK,
  ],
  [
    'a pool that a kubelet may enter by itself',
    {
      view: aView({
        pools: [{ ...POOL, spec: { ...POOL.spec, nodeSelector: { matchLabels: { team: 'a' } } } }],
      }),
    },
    'WARNING  machineconfigpool worker: selects by the label team, which a kubelet may set: who steals one machine reads the configs of this pool',
    EXIT.OK,
  ],
  [
    'a host worker that is away',
    { temporal: { hasHostWorker: (node) => Promise.resolve(node !== 'w2') } },
    'PROBLEM  node w2: has not asked Temporal for work in the last minutes',
    EXIT.FAILED,
  ],
  [
    'several of them together',
    {
      view: aView({ pools: [POOL], nodes: MANY }),
      temporal: { hasHostWorker: () => Promise.resolve(false) },
    },
    'PROBLEM  4 nodes (w1, w2, w3 and 1 more): has not asked Temporal for work in the last minutes',
    EXIT.FAILED,
  ],
  [
    'a clock that is ahead',
    { cluster: { nodeLeases: () => Promise.resolve([{ node: 'w1', renewedAt: AHEAD }]) } },
    "PROBLEM  node w1: its clock is 9 s ahead of the API server's",
    EXIT.FAILED,
  ],
  [
    'a clock that is behind',
    { cluster: { nodeLeases: () => Promise.resolve([{ node: 'w1', renewedAt: STALE }]) } },
    "PROBLEM  node w1: its clock is 120 s behind the API server's",
    EXIT.FAILED,
  ],
])('says %s', async (_what, scene, line, exitCode) => {
  const { code, wrong } = await examined(scene);

  expect([wrong, code]).toEqual([[line], exitCode]);
});

it('says nothing else of a cluster that does not answer', async () => {
  const away = () => Promise.reject(fail('ApiUnavailable', 'the API server does not answer'));
  const { wrong, said } = await examined({ cluster: { version: away } });

  expect(wrong).toEqual([
    'PROBLEM  Kubernetes at https://127.0.0.1:6443: the API server does not answer',
  ]);
  expect(said.filter((line) => line.startsWith('ok'))).toEqual([]);
});

describe('the certificate of the server', () => {
  it('is shown with who issued it, and what it lacks', async () => {
    const served = await issueServing(
      { certificate: pem, key },
      { names: ['slipway.example.com'], nowMs: NOW },
    );
    const other = (await newAuthority('another')).certificate;
    const found = (more: Partial<DoctorCluster>) =>
      certificates(
        {
          ...healthyCluster(),
          ...{ serverCertificate: () => Promise.resolve(served.certificate), ...more },
        },
        NOW,
      );
    const names = (...wanted: readonly string[]) => ({
      serverNames: () => Promise.resolve(wanted),
    });

    expect(await found(names('slipway.example.com'))).toContainEqual({
      level: 'ok',
      object: 'secret slipway/slipway-server-tls',
      says: expect.stringMatching(
        /^CN=slipway-server ends on .*, issued by CN=slipway-test$/,
      ) as string,
    });
    expect(await found(names('slipway.example.com', 'api-int.example.com'))).toContainEqual(
      expect.objectContaining({
        level: 'problem',
        says: 'lacks api-int.example.com of SLIPWAY_SERVER_NAMES (configmap slipway/slipway-settings)',
      }),
    );
    const ofOther = { serverAuthorities: () => Promise.resolve(other) };
    expect(await found(ofOther)).toContainEqual(
      expect.objectContaining({
        level: 'problem',
        says: 'is not of an authority in configmap slipway/slipway-server-ca',
      }),
    );
  });
});

describe('a certificate', () => {
  const DAY_MS = 86_400_000;

  it.each([
    ['ends soon', -10, /^WARNING .* ends on .*, in (10|9) days(, issued by CN=slipway-test)?$/],
    ['has ended', 1, /^PROBLEM .* ended on /],
  ])('that %s is named, with its object', async (_what, days, line) => {
    const endsMs = Date.parse(new X509Certificate(pem).validTo);
    const found = await certificates(healthyCluster(), endsMs + days * DAY_MS);

    expect(found.map(({ level, says }) => `${level.toUpperCase()}  ${says}`)).toEqual([
      expect.stringMatching(line),
      expect.stringMatching(line),
      expect.stringMatching(line),
    ]);
    expect(found[0]?.object).toBe('secret slipway/slipway-server-tls');
  });

  it('that is not there is a problem', async () => {
    const none = { ...healthyCluster(), serverCertificate: () => Promise.resolve(undefined) };

    expect(await certificates(none, NOW)).toContainEqual(
      expect.objectContaining({ level: 'problem', says: 'is not there' }),
    );
  });
});

it('names the nodes whose host worker has another version', async () => {
  const reported = (name: string, version: string): readonly [string, MachineConfigNode] => [
    name,
    {
      metadata: { name },
      spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'r' } },
      status: { hostWorker: { version } },
    },
  ];
  const nodes = new Map([reported('w1', '0.0.1'), reported('w2', VERSION)]);

  const { code, wrong } = await examined({ view: { ...VIEW, machineConfigNodes: nodes } });

  expect(code).toBe(EXIT.OK);
  expect(wrong).toEqual([
    expect.stringContaining(
      `node w1: the host worker has version 0.0.1, and this command ${VERSION}`,
    ) as string,
  ]);
});

it('names the nodes that do not have the certificates they were given', async () => {
  const says = (name: string, status: 'True' | 'False'): readonly [string, MachineConfigNode] => [
    name,
    {
      metadata: { name },
      spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'r' } },
      status: {
        hostWorker: { version: VERSION },
        conditions: [{ type: 'HostBundle', status, reason: 'NotWritten', message: 'disk full' }],
      },
    },
  ];
  const nodes = new Map([says('w1', 'False'), says('w2', 'True')]);

  const { wrong } = await examined({ view: { ...VIEW, machineConfigNodes: nodes } });

  expect(wrong).toEqual([expect.stringContaining('node w1: disk full') as string]);
});
