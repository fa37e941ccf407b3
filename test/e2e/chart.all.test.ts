/**
 * The Helm chart: the same objects as Kustomize, and the commands of docs/helm.md against a real API server. KWOK
 * plays the pods.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, createNodes, startCluster } from '../../tools/cluster';
import { adoptDirectory } from '../../tools/processes/watchdog';
import { until } from '../integration/tools/until';
import { type Installer, objectsOf, prepareInstaller } from './support/installer';

jest.setTimeout(5 * 60_000);

const PAGE = 'docs/helm.md';
const TEMPORAL = 'temporal.example.net:7233';

let directory = '';
let disown = (): void => undefined;
let cluster: Cluster;
let installer: Installer;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-chart-'));
  disown = adoptDirectory(directory);
  cluster = await startCluster();
  await createNodes(cluster, [{ name: 'worker-0' }]);
  installer = await prepareInstaller(directory, {
    KUBECONFIG: cluster.adminKubeconfig,
    REGISTRY: 'registry.example.net',
    TEMPORAL_ADDRESS: TEMPORAL,
    SERVER: 'slipway.example.net',
  });
  installer.makeChart();
});

afterAll(async () => {
  await cluster?.stop();
  rmSync(directory, { recursive: true, force: true });
  disown();
});

const helm = (...args: readonly string[]): Promise<string> => installer.command('helm', ...args);
const kubectl = (...args: readonly string[]): Promise<string> =>
  installer.command('kubectl', ...args);
const render = (...flags: readonly string[]): Promise<string> =>
  helm('template', 'slipway', 'dist/chart', '--namespace', 'slipway', ...flags);

it('is a good chart for helm lint', async () => {
  expect(await helm('lint', '--strict', 'dist/chart', '--namespace', 'slipway')).toContain(
    '1 chart(s) linted, 0 chart(s) failed',
  );
});

describe('renders the same objects as Kustomize', () => {
  /** Helm wants it to be there already. */
  const NAMESPACE = 'Namespace /slipway';

  it.each([
    { name: 'by default', components: [], flags: [] },
    {
      name: 'with network policies',
      components: ['network-policies'],
      flags: ['--set', 'networkPolicy.enabled=true'],
    },
    {
      name: 'with a ServiceMonitor',
      components: ['service-monitor'],
      flags: ['--set', 'serviceMonitor.enabled=true'],
    },
    {
      name: 'with alerts and a dashboard',
      components: ['monitoring'],
      flags: ['--set', 'monitoring.enabled=true'],
    },
    {
      name: "where OpenShift's definitions are another owner's",
      components: ['foreign-crds'],
      flags: ['--set', 'crds.machineConfig=false'],
    },
  ])('$name', async ({ components, flags }) => {
    const byKustomize = new Map(objectsOf(await kubectl('kustomize', overlay(components))));
    const byHelm = objectsOf(await render(...flags));

    expect(byKustomize.delete(NAMESPACE)).toBe(true);
    expect(Object.fromEntries(byHelm)).toEqual(Object.fromEntries(byKustomize));
  });

  it('without any definition of another owner', async () => {
    const definitions = [...objectsOf(await render('--set', 'crds.machineConfig=false')).keys()]
      .filter((key) => key.startsWith('CustomResourceDefinition'))
      .sort();

    expect(definitions).toEqual([
      'CustomResourceDefinition /poolrollouts.slipway.dev',
      'CustomResourceDefinition /rolloutpolicies.slipway.dev',
      'CustomResourceDefinition /slipways.slipway.dev',
    ]);
  });
});

function overlay(components: readonly string[]): string {
  const name = ['overlay', ...components].join('-');
  const text = {
    resources: ['../deploy'],
    components: components.map((component) =>
      component === 'monitoring' ? '../deploy/monitoring' : `../deploy/components/${component}`,
    ),
  };
  mkdirSync(join(installer.root, name), { recursive: true });
  writeFileSync(join(installer.root, name, 'kustomization.yaml'), JSON.stringify(text));
  return name;
}

it('puts every value where it belongs', async () => {
  writeFileSync(join(installer.root, 'values.yaml'), JSON.stringify(ALL_VALUES));
  const objects = objectsOf(await render('--values', 'values.yaml'));

  const pod = {
    priorityClassName: 'high',
    nodeSelector: { zone: 'a' },
    tolerations: [{ operator: 'Exists' }],
    imagePullSecrets: [{ name: 'pull' }],
  };
  const image = `registry.example.net/slipway:1.0@${ALL_VALUES.image.digest}`;
  const mounted = [
    'payload-keys',
    'temporal-tls',
    'temporal-api-key',
    'temporal-authority',
    'temporal-client',
  ];
  const ofTemporal = [
    { name: 'temporal-api-key', secret: { secretName: 'key' } },
    { name: 'temporal-authority', secret: { secretName: 'authority' } },
    { name: 'temporal-client', secret: { secretName: 'client' } },
  ];
  for (const [name, replicas] of [
    ['controllers', 3],
    ['cluster-worker', 4],
  ] as const) {
    expect(objects.get(`Deployment slipway/slipway-${name}`)).toMatchObject({
      spec: {
        replicas,
        template: {
          spec: {
            ...pod,
            containers: [
              {
                ...{ image, imagePullPolicy: 'Always' },
                resources: { limits: { memory: '1Gi' } },
                volumeMounts: mounted.map((volume) => ({
                  name: volume,
                  mountPath: `/etc/slipway/${volume}`,
                  readOnly: true,
                })),
              },
            ],
            volumes: [
              { name: 'payload-keys', secret: { secretName: 'slipway-payload-keys' } },
              { name: 'temporal-tls', secret: { secretName: 'slipway-temporal-tls' } },
              ...ofTemporal,
            ],
          },
        },
      },
    });
  }
  expect(objects.get('Deployment slipway/slipway-server')).toMatchObject({
    spec: {
      replicas: 5,
      template: {
        spec: {
          ...pod,
          containers: [
            {
              image,
              env: expect.arrayContaining([
                { name: 'SLIPWAY_ALLOW_NETWORK', value: '10.0.0.0/8,fd00::/8' },
                { name: 'SLIPWAY_CODEC_ORIGIN', value: 'https://temporal.example.net' },
              ]) as unknown,
            },
          ],
          volumes: [
            { name: 'tls', secret: { secretName: 'certificate' } },
            { name: 'client-ca', configMap: { name: 'kubelets' } },
            { name: 'payload-keys', secret: { secretName: 'slipway-payload-keys' } },
            { name: 'temporal-tls', secret: { secretName: 'slipway-temporal-tls' } },
            ...ofTemporal,
          ],
        },
      },
    },
  });
  expect(objects.get('ConfigMap slipway/slipway-settings')).toMatchObject({
    data: {
      TEMPORAL_ADDRESS: 'temporal.example.net:443',
      TEMPORAL_NAMESPACE: 'other',
      TEMPORAL_TLS: 'true',
      TEMPORAL_TLS_CA: '/etc/slipway/temporal-authority/ca.crt',
      TEMPORAL_TLS_CERT: '/etc/slipway/temporal-client/tls.crt',
      TEMPORAL_TLS_KEY: '/etc/slipway/temporal-client/tls.key',
      TEMPORAL_TLS_SERVER_NAME: 'temporal',
      TEMPORAL_API_KEY_FILE: '/etc/slipway/temporal-api-key/api-key',
      SLIPWAY_SERVER_NAMES: 'slipway.example.net,10.0.0.5',
      SLIPWAY_ISSUE_CERTIFICATES: 'false',
      SLIPWAY_PAYLOAD_KEYS: '',
    },
  });
  expect(objects.get('Certificate slipway/slipway-server')).toMatchObject({
    spec: {
      secretName: 'slipway-server-tls',
      dnsNames: ['slipway-server.slipway', 'slipway-server.slipway.svc', 'slipway.example.net'],
      ipAddresses: ['10.0.0.5'],
      issuerRef: { kind: 'ClusterIssuer', name: 'authority' },
    },
  });
  expect(objects.get('Service slipway/slipway-server')).toMatchObject({
    metadata: { annotations: { balancer: 'internal' } },
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ports: [{ nodePort: 30001 }, { nodePort: 30002 }, { nodePort: 30003 }],
    },
  });
  expect(objects.get('NetworkPolicy slipway/slipway-controllers')).toMatchObject({
    spec: {
      egress: [
        { ports: [{ port: 53 }, { port: 53 }, { port: 5353 }, { port: 5353 }] },
        { ports: [{ port: 443 }, { port: 6443 }] },
        { ports: [{ port: 7233 }, { port: 443 }] },
        { ports: [{ port: 16443 }] },
      ],
    },
  });
});

describe('the connection to Temporal', () => {
  const settingsWith = async (...values: readonly string[]) => {
    const objects = objectsOf(await render(...values.flatMap((value) => ['--set', value])));
    const { data } = objects.get('ConfigMap slipway/slipway-settings') as unknown as {
      data: Readonly<Record<string, string>>;
    };
    const found = Object.entries(data).filter(([name]) => /TLS|CERTIFICATES|API_KEY/.test(name));
    return Object.fromEntries(found);
  };
  const issued = {
    SLIPWAY_TEMPORAL_CERTIFICATES: 'temporal',
    TEMPORAL_TLS_CA: '/etc/slipway/temporal-tls/ca.crt',
    TEMPORAL_TLS_CERT: '/etc/slipway/temporal-tls/tls.crt',
    TEMPORAL_TLS_KEY: '/etc/slipway/temporal-tls/tls.key',
  };

  it.each([
    { name: 'has the certificates that the controllers issue', values: [], expected: issued },
    {
      name: 'has those of other Secrets alone',
      values: ['temporal.tls.clientSecret=client'],
      expected: {
        TEMPORAL_TLS_CERT: '/etc/slipway/temporal-client/tls.crt',
        TEMPORAL_TLS_KEY: '/etc/slipway/temporal-client/tls.key',
      },
    },
    {
      name: 'has none with an API key',
      values: ['temporal.apiKeySecret=key'],
      expected: { TEMPORAL_API_KEY_FILE: '/etc/slipway/temporal-api-key/api-key' },
    },
    {
      name: 'is not encrypted where that is said',
      values: ['temporal.tls.enabled=false'],
      expected: { ...issued, TEMPORAL_TLS: 'false' },
    },
  ])('$name', async ({ values, expected }) => {
    expect(await settingsWith(...values)).toEqual(expected);
  });
});

const OF_ONE = { resources: { limits: { memory: '1Gi' } } };
const ALL_VALUES = {
  image: {
    repository: 'registry.example.net/slipway',
    tag: '1.0',
    digest: `sha256:${'0'.repeat(64)}`,
    pullPolicy: 'Always',
    pullSecrets: ['pull'],
  },
  temporal: {
    address: 'temporal.example.net:443',
    namespace: 'other',
    encoded: false,
    apiKeySecret: 'key',
    tls: {
      enabled: true,
      authoritySecret: 'authority',
      clientSecret: 'client',
      serverName: 'temporal',
    },
  },
  controllers: { replicas: 3, ...OF_ONE },
  clusterWorker: { replicas: 4, ...OF_ONE },
  server: {
    replicas: 5,
    ...OF_ONE,
    names: ['slipway.example.net', '10.0.0.5'],
    certManager: { issuer: 'authority', kind: 'ClusterIssuer' },
    certificateSecret: 'certificate',
    clientAuthority: 'kubelets',
    allowedNetworks: ['10.0.0.0/8', 'fd00::/8'],
    codecOrigin: 'https://temporal.example.net',
    service: {
      type: 'LoadBalancer',
      annotations: { balancer: 'internal' },
      ignitionNodePort: 30001,
      hostsNodePort: 30002,
      gatewayNodePort: 30003,
    },
  },
  priorityClassName: 'high',
  nodeSelector: { zone: 'a' },
  tolerations: [{ operator: 'Exists' }],
  networkPolicy: { enabled: true, extraEgress: [{ ports: [{ port: 16443 }] }] },
};

it.each([
  ['replicas=3', "additional properties 'replicas' not allowed"],
  ['image.digest=latest', "'/image/digest': 'latest' does not match"],
  ['server.replicas=two', "'/server/replicas': got string, want integer"],
  ['server.service.type=Port', "'/server/service/type': value must be one of 'NodePort'"],
  ['server.service.hostsNodePort=70000', "'/server/service/hostsNodePort': maximum"],
  ['temporal.address=http://temporal', "'/temporal/address': 'http://temporal' does not match"],
  ['temporal.tls.clientSecret=A_B', "'/temporal/tls/clientSecret': 'A_B' does not match"],
])('refuses %s and names it', async (value, message) => {
  await expect(render('--set', value)).rejects.toThrow(message);
});

it('refuses another namespace', async () => {
  await expect(helm('template', 'slipway', 'dist/chart')).rejects.toThrow(
    'add --namespace slipway',
  );
});

it('installs, upgrades its definitions, and leaves nothing once all is removed', async () => {
  const before = await everything();
  const crd = join(installer.root, 'deploy/crds/rolloutpolicies.yaml');
  const written = readFileSync(crd, 'utf8');

  writeFileSync(crd, written.replace('name: FailureThreshold', 'name: Threshold'));
  await installer.documented(PAGE, 'Install');
  await kubectl('apply', '-f', 'deploy/samples');
  expect(await columns()).toContain('Threshold');

  writeFileSync(crd, written);
  await installer.documented(PAGE, 'Upgrade');
  expect(await columns()).toContain('FailureThreshold');
  expect(await kubectl('get', 'rolloutpolicies', '-o', 'name')).toContain('worker');

  await installer.documented(PAGE, 'Uninstall');
  const left = [...(await everything())].filter((one) => !before.has(one));
  expect(left.filter((one) => !STAYS.test(one))).toEqual([]);
  expect(left).toContain('MachineConfig /00-worker');

  await installer.documented(PAGE, 'Everything');
  await until(
    async () => [...(await everything())].every((one) => before.has(one)),
    'nothing of Slipway is left',
  );
});

/** Definitions and what they define, and what is in the namespace. */
const STAYS =
  /^(CustomResourceDefinition |APIService |(MachineConfig|MachineConfigPool|RolloutPolicy) |Namespace \/slipway$|(ConfigMap|ServiceAccount) slipway\/(kube-root-ca\.crt|default)$)/;

it('takes over what Kustomize has installed, when told to', async () => {
  await kubectl('apply', '-k', overlay(['network-policies']));
  const install = ['install', 'slipway', 'dist/chart', '--namespace', 'slipway', '--wait'];

  await expect(helm(...install)).rejects.toThrow('invalid ownership metadata');
  await helm(...install, '--take-ownership', '--set', 'networkPolicy.enabled=true');
  await kubectl('apply', '-f', 'deploy/samples');

  await installer.documented(PAGE, 'Uninstall');
  expect(await kubectl('get', 'mc', '-o', 'name')).toContain('00-worker');
  await installer.documented(PAGE, 'Everything');
});

it("leaves another owner's definitions alone", async () => {
  const definitions = join(installer.root, 'deploy/crds');
  for (const file of readdirSync(definitions)) {
    const text = readFileSync(join(definitions, file), 'utf8');
    if (text.includes('group: slipway.dev')) continue;
    writeFileSync(join(directory, file), text.replace('part-of: slipway', 'part-of: another'));
    await kubectl('apply', '-f', join(directory, file));
  }
  await kubectl('apply', '-f', 'deploy/rbac/00-namespace.yaml');
  const before = await everything();

  const values = ['--set', 'crds.machineConfig=false'];
  await helm('install', 'slipway', 'dist/chart', '--namespace', 'slipway', '--wait', ...values);
  await kubectl('apply', '-f', 'deploy/samples');
  await installer.documented(PAGE, 'Uninstall');
  await installer.documented(PAGE, 'Everything');

  const after = await everything();
  const gone = [...before].filter((one) => !after.has(one) && !one.includes('slipway'));
  expect(gone).toEqual([]);
  expect(after).toContain('MachineConfig /00-worker');
});

/** `kind namespace/name` of all that people or Slipway make. */
async function everything(): Promise<ReadonlySet<string>> {
  const kinds = (await kubectl('api-resources', '--verbs=list', '-o', 'name'))
    .trim()
    .split('\n')
    .filter((kind) => !MOVING.includes(kind));
  const what = '{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}';
  const listed = await kubectl('get', kinds.join(), '--all-namespaces', '-o', `jsonpath=${what}`);
  return new Set(listed.trim().split('\n'));
}

/** What Kubernetes makes and removes by itself. */
const MOVING = [
  'events',
  'events.events.k8s.io',
  'leases.coordination.k8s.io',
  'componentstatuses',
];

/** Printed of a RolloutPolicy. */
async function columns(): Promise<string> {
  const path = '{.spec.versions[0].additionalPrinterColumns[*].name}';
  return kubectl('get', 'crd', 'rolloutpolicies.slipway.dev', '-o', `jsonpath=${path}`);
}
