import { FIRST_BOOT_PLACES } from '../../../host/first-boot/ignition-files';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, parseDocument } from 'yaml';
import { ControllerSettings } from '../../../controllers/settings';
import {
  TEMPORAL_CLIENT_SECRET,
  TEMPORAL_SERVER_SECRET,
  temporalNames,
} from '../../../core/certificates';
import { isOwnService, PAYLOAD_KEYS_SECRET } from '../../../core/names';
import { ServerSettings } from '../../../server/settings';
import { variableOf } from '../../../process/settings';
import { ClusterWorkerSettings } from '../../../workers/cluster/settings';
import { parseConfig } from '../../../process/host/config-file';
import { HOST_WORKER_FLAGS } from '../../../workers/host/flags';

const ROOT = join(__dirname, '..', '..', '..');
const DEPLOY = join(ROOT, 'deploy');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
};

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Deployment extends Manifest {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly serviceAccountName: string;
        readonly volumes?: readonly {
          readonly name: string;
          readonly secret?: { readonly secretName: string; readonly optional?: boolean };
        }[];
        readonly containers: readonly {
          readonly envFrom?: readonly object[];
          readonly volumeMounts?: readonly { readonly name: string }[];
          readonly command: readonly string[];
          readonly env?: readonly { readonly name: string; readonly value: string }[];
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
        }[];
      };
    };
  };
}

interface Kustomization {
  readonly resources: readonly string[];
}

function read<T = Manifest>(path: string): readonly T[] {
  return parseAllDocuments(readFileSync(join(DEPLOY, path), 'utf8')).map(
    (document) => document.toJS() as T,
  );
}

const files = (folder: string): readonly string[] =>
  readdirSync(join(DEPLOY, folder)).filter(
    (file) => file.endsWith('.yaml') && file !== 'kustomization.yaml',
  );

const deployments = files('base')
  .flatMap((file) => read<Deployment>(`base/${file}`))
  .filter(({ kind }) => kind === 'Deployment');

/** A variable of the C library. */
const OF_THE_SYSTEM = ['MALLOC_ARENA_MAX'];
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  controllers: Object.keys(ControllerSettings.shape).map(variableOf),
  'cluster-worker': Object.keys(ClusterWorkerSettings.shape).map(variableOf),
  server: Object.keys(ServerSettings.shape).map(variableOf),
  'host-worker': HOST_WORKER_FLAGS.map(({ variable }) => variable),
};

describe('kustomization', () => {
  it('of the whole has every CRD, every role and the base', () => {
    const [{ resources }] = read<Kustomization>('kustomization.yaml') as [Kustomization];

    const expected = [
      ...files('crds').map((file) => `crds/${file}`),
      ...files('rbac').map((file) => `rbac/${file}`),
      'base',
    ];
    expect([...resources].sort()).toEqual([...expected].sort());
  });

  it('of the base has every manifest of it', () => {
    const [{ resources }] = read<Kustomization>('base/kustomization.yaml') as [Kustomization];

    expect([...resources].sort()).toEqual([...files('base')].sort());
  });
});

describe('the version of the chart, and of its image,', () => {
  it('is that of the package', () => {
    const [chart] = read<{ readonly version: string }>('chart/Chart.yaml');
    const [base] = read<{ readonly images: readonly { readonly newTag: string }[] }>(
      'base/kustomization.yaml',
    );

    expect(chart?.version).toBe(VERSION);
    expect(base?.images.map(({ newTag }) => newTag)).toEqual([VERSION]);
  });
});

describe('what enters Temporal', () => {
  const [settings] = read<Manifest & { data: Record<string, string> }>('base/settings.yaml');
  const directory = settings?.data[variableOf('payloadKeys')];

  it.each(deployments)('is encoded by $metadata.name, with the keys of one Secret', ({ spec }) => {
    const { containers, volumes } = spec.template.spec;

    expect(containers[0]?.volumeMounts).toContainEqual({
      ...{ name: 'payload-keys', mountPath: directory, readOnly: true },
    });
    expect(volumes).toContainEqual({
      name: 'payload-keys',
      secret: expect.objectContaining({ secretName: PAYLOAD_KEYS_SECRET }) as unknown,
    });
    expect(containers[0]?.envFrom).toEqual([{ configMapRef: { name: 'slipway-settings' } }]);
  });

  it('keeps nobody from starting who makes its keys', () => {
    const optional = deployments.flatMap(({ metadata: { name }, spec }) =>
      spec.template.spec.volumes?.some(
        ({ name: volume, secret }) => volume === 'payload-keys' && secret?.optional === true,
      )
        ? [name]
        : [],
    );

    expect(optional).toEqual(['slipway-controllers']);
  });

  it('is read by machines through the gateway', () => {
    const { values } = parseConfig(
      readFileSync(join(DEPLOY, 'host', 'host.yaml'), 'utf8'),
      'host.yaml',
    );
    const [, , service] = read<Manifest & { readonly spec: object }>('base/server.yaml');
    const nodePort = Number(values['gatewayAddress']?.split(':')[1]);

    expect(values).not.toHaveProperty('temporalAddress');
    expect(service?.spec).toMatchObject({
      ports: expect.arrayContaining([
        { name: 'gateway', port: 22_625, targetPort: 'gateway', nodePort },
      ]) as unknown,
    });
  });
});

describe('the connection to Temporal', () => {
  const [settings] = read<Manifest & { data: Record<string, string> }>('base/settings.yaml');
  const { data = {} } = settings ?? {};

  it.each(deployments)('of $metadata.name has the certificates of one Secret', ({ spec }) => {
    const { containers, volumes } = spec.template.spec;
    const files = Object.fromEntries(
      ['Ca', 'Cert', 'Key'].map((file) => [file, data[variableOf(`temporalTls${file}`)]]),
    );
    const directory = '/etc/slipway/temporal-tls';

    expect(files).toEqual({
      Ca: `${directory}/ca.crt`,
      Cert: `${directory}/tls.crt`,
      Key: `${directory}/tls.key`,
    });
    expect(containers[0]?.volumeMounts).toContainEqual({
      ...{ name: 'temporal-tls', mountPath: directory, readOnly: true },
    });
    // The controllers issue them while they wait; and TLS may be off.
    expect(volumes).toContainEqual({
      name: 'temporal-tls',
      secret: { secretName: TEMPORAL_CLIENT_SECRET, optional: true },
    });
  });

  it('leads to a Temporal whose certificate has that name, and that the controllers may issue', () => {
    const [temporal] = read<Manifest & { data: Record<string, string> }>('temporal/settings.yaml');
    const namespace = data[variableOf('temporalCertificates')] ?? '';
    const [host] = data[variableOf('temporalAddress')]?.split(':') ?? [];
    const [role, binding] = read<Manifest & object>('temporal/certificates.yaml');
    const [pod] = read<Deployment>('temporal/server-deployment.yaml');

    expect(temporalNames(namespace)).toContain(host);
    expect(temporal?.data['TLS_SERVER_NAME']).toBe(host);
    expect(read('temporal/kustomization.yaml')).toMatchObject([{ namespace }]);
    expect(role).toMatchObject({
      rules: expect.arrayContaining([
        expect.objectContaining({ resourceNames: [TEMPORAL_SERVER_SECRET] }),
      ]) as unknown,
    });
    expect(binding).toMatchObject({
      subjects: expect.arrayContaining([
        { kind: 'ServiceAccount', name: 'slipway-controllers', namespace: 'slipway' },
      ]) as unknown,
    });
    expect(pod?.spec.template.spec.volumes).toContainEqual({
      name: 'tls',
      secret: expect.objectContaining({ secretName: TEMPORAL_SERVER_SECRET }) as unknown,
    });
  });
});

describe('the CustomResourceDefinitions', () => {
  const NOTES = {
    labels: { 'app.kubernetes.io/part-of': 'slipway' },
    annotations: { 'helm.sh/resource-policy': 'keep' },
  };

  it.each(files('crds'))('%s outlives helm uninstall, and can be found by its label', (file) => {
    expect(read(`crds/${file}`)).toMatchObject([{ metadata: NOTES }]);
  });
});

describe('what is optional', () => {
  interface Ports {
    readonly ports: readonly { readonly port: string | number }[];
  }
  interface NetworkPolicy extends Manifest {
    readonly spec: {
      readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
      readonly ingress: readonly Ports[];
      readonly egress: readonly Ports[];
    };
  }

  it('has a NetworkPolicy for each Deployment, that lets in to each of its ports', () => {
    const policies = read<NetworkPolicy>('components/network-policies/network-policies.yaml');

    const allowed = policies.map(({ spec }) => ({
      pods: spec.podSelector.matchLabels,
      ports: spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port)).sort(),
    }));
    const needed = deployments.map(({ spec }) => ({
      pods: spec.selector.matchLabels,
      ports: spec.template.spec.containers
        .flatMap(({ ports }) => ports.map(({ name }) => name))
        .sort(),
    }));
    expect(new Set(allowed)).toEqual(new Set(needed));
  });

  it('lets those out to Temporal that use it', () => {
    const policies = read<NetworkPolicy>('components/network-policies/network-policies.yaml');
    const [settings] = read<Manifest & { data: Record<string, string> }>('base/settings.yaml');
    const port = Number(settings?.data['TEMPORAL_ADDRESS']?.split(':')[1]);

    const out = policies.filter(({ spec }) =>
      spec.egress.some(({ ports }) => ports.some((one) => one.port === port)),
    );
    expect(out.map(({ metadata }) => metadata.name).sort()).toEqual([
      'slipway-cluster-worker',
      'slipway-controllers',
      'slipway-server',
    ]);
  });

  it('has a ServiceMonitor for the metrics of every Deployment', () => {
    const [service, monitor] = read<Manifest & { readonly spec: object }>(
      'components/service-monitor/service-monitor.yaml',
    );

    expect(service).toMatchObject({
      metadata: { labels: { 'app.kubernetes.io/name': 'slipway-metrics' } },
      spec: {
        selector: { 'app.kubernetes.io/part-of': 'slipway' },
        ports: [{ name: 'metrics', targetPort: 'metrics' }],
      },
    });
    expect(monitor).toMatchObject({
      spec: {
        selector: { matchLabels: { 'app.kubernetes.io/name': 'slipway-metrics' } },
        // Else the operator's label `endpoint` would take the place of ours.
        endpoints: [{ port: 'metrics', honorLabels: true }],
      },
    });
    for (const { spec } of deployments) {
      const { metadata, spec: pod } = spec.template;
      expect(metadata.labels['app.kubernetes.io/part-of']).toBe('slipway');
      expect(pod.containers[0]?.ports.map(({ name }) => name)).toContain('metrics');
    }
  });
});

describe('the Deployments', () => {
  it('are the processes that run in a cluster', () => {
    expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual([
      'slipway-cluster-worker',
      'slipway-controllers',
      'slipway-server',
    ]);
  });

  it.each(deployments.map((deployment) => ({ name: deployment.metadata.name, deployment })))(
    '$name runs a process, with variables that it knows, under an account that exists',
    ({ deployment }) => {
      const { spec } = deployment.spec.template;
      const [container] = spec.containers;
      const [program, name = ''] = container?.command ?? [];

      expect(program).toBe('slipway');
      const known = [...(VARIABLES[name] ?? []), ...OF_THE_SYSTEM];
      for (const variable of container?.env ?? []) expect(known).toContain(variable.name);
      const accounts = files('rbac')
        .flatMap((file) => read(`rbac/${file}`))
        .filter(({ kind }) => kind === 'ServiceAccount')
        .map(({ metadata }) => metadata.name);
      expect(accounts).toContain(spec.serviceAccountName);
      expect(deployment.spec.template.metadata.labels).toMatchObject(
        deployment.spec.selector.matchLabels,
      );
    },
  );

  it('share settings whose names one of the processes knows', () => {
    const [settings] = read<Manifest & { data: Record<string, string> }>('base/settings.yaml');

    const known = ['controllers', 'cluster-worker'].flatMap((name) => VARIABLES[name] ?? []);
    for (const variable of Object.keys(settings?.data ?? {})) expect(known).toContain(variable);
  });
});

it('refuses each service of the host worker in a disruption policy, as the controllers do', () => {
  const crd = readFileSync(join(DEPLOY, 'crds', 'machineconfigurations.yaml'), 'utf8');
  const rules = [...crd.matchAll(/!self\.matches\("(\^slipway-host[^"]*)"\)/g)].map(
    ([, rule = '']) => new RegExp(rule),
  );
  const services = readdirSync(join(DEPLOY, 'host')).filter((file) => file.endsWith('.service'));

  expect(rules).toHaveLength(6);
  expect(services).toHaveLength(4);
  for (const name of [...services, 'slipway-host-other.service']) {
    const isOwn = isOwnService(name);
    expect([name, isOwn]).toEqual([name, services.includes(name)]);
    expect(rules.map((rule) => rule.test(name))).toEqual(rules.map(() => isOwn));
  }
});

describe('a machine', () => {
  const worker = readFileSync(join(DEPLOY, 'host', 'slipway-host.service'), 'utf8');
  const settle = readFileSync(join(DEPLOY, 'host', 'slipway-host-settle.service'), 'utf8');

  it('settles once per boot, before the kubelet, which does not start without it', () => {
    expect(settle).toMatch(/^Before=.* slipway-host\.service$/m);
    expect(settle).toMatch(/^RemainAfterExit=yes$/m);
    expect(settle).toMatch(/^ExecStart=.*slipway host-settle'$/m);
  });

  it('completes the first boot after that, and nothing starts before', () => {
    const first = readFileSync(join(DEPLOY, 'host', 'slipway-host-first-boot.service'), 'utf8');

    expect(first).toMatch(
      new RegExp(`^ConditionPathExists=${FIRST_BOOT_PLACES.ENCAPSULATED}$`, 'm'),
    );
    expect(first).toMatch(/^After=slipway-host-settle\.service /m);
    expect(first).toMatch(/^Before=.* slipway-host\.service$/m);
    expect(first).toMatch(/^ExecStart=\S*slipway host-first-boot$/m);
    // Every boot would wait for it, because conditions are checked last.
    expect(first).not.toMatch(/^(Wants|After|Requires)=.*network-online/m);
  });

  it('has a rollback that needs no program of its own, and does not hold up the boot', () => {
    const fallback = readFileSync(join(DEPLOY, 'host', 'slipway-host-fallback.service'), 'utf8');

    expect(fallback).toMatch(/^ConditionPathExists=\/var\/lib\/slipway\/unconfirmed$/m);
    expect(fallback).toMatch(/^Type=simple$/m);
    expect(fallback).toMatch(/^ExecStart=\/usr\/lib\/slipway\/slipway-host-fallback$/m);
    expect(fallback).toMatch(/^WantedBy=multi-user\.target$/m);
    // These may be what is missing.
    expect(fallback).not.toMatch(/^(Requires|After|EnvironmentFile)=/m);
  });

  it('runs the worker always again, with a watchdog and a limit of memory', () => {
    expect(worker).toMatch(/^After=.*slipway-host-settle\.service$/m);
    expect(worker).toMatch(/^Restart=always$/m);
    expect(worker).toMatch(/^ExecStart=\S*slipway host-worker$/m);
    expect(worker).toMatch(/^WatchdogSec=\d+$/m);
    expect(worker).toMatch(/^MemoryMax=\S+$/m);
  });

  it('has no mount namespace: rpm-ostree, bootc and ostree mount for themselves', () => {
    const mounting =
      /^(Protect(System|Home|KernelModules|KernelTunables|ControlGroups)|Private\w+|ReadOnlyPaths|NoNewPrivileges)=/m;

    expect(worker).not.toMatch(mounting);
    expect(settle).not.toMatch(mounting);
  });

  it('gets only settings that it knows', () => {
    const { values, problems } = parseConfig(
      readFileSync(join(DEPLOY, 'host', 'host.yaml'), 'utf8'),
      'host.yaml',
    );
    expect(problems).toEqual([]);
    expect(Object.keys(values).length).toBeGreaterThan(3);
    for (const name of Object.keys(values)) {
      expect(HOST_WORKER_FLAGS.map(({ setting }) => setting)).toContain(name);
    }
  });

  it('reads the file as YAML reads it', () => {
    const text = readFileSync(join(DEPLOY, 'host', 'host.yaml'), 'utf8');
    const expected = parseDocument(text).toJS() as Readonly<Record<string, unknown>>;
    const { values } = parseConfig(text, 'host.yaml');
    for (const [name, value] of Object.entries(expected)) expect(values[name]).toBe(String(value));
  });

  it('keeps its state where the units make the directory', () => {
    expect(worker).toMatch(/^StateDirectory=slipway$/m);
    expect(settle).toMatch(/^StateDirectory=slipway$/m);
  });
});
