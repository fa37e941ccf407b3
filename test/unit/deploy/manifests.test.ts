import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ControllerSettings } from '../../../controllers/settings';
import { ServerSettings } from '../../../server/settings';
import { ClusterWorkerSettings, variableOf } from '../../../workers/config';
import { HOST_WORKER_FLAGS } from '../../../workers/host-flags';

const DEPLOY = join(__dirname, '..', '..', '..', 'deploy');

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
        readonly containers: readonly {
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

/** The environment variables that each process knows. */
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
      const known = VARIABLES[name];
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

  it('share settings whose names the processes know', () => {
    const [settings] = read<Manifest & { data: Record<string, string> }>('base/settings.yaml');

    for (const name of ['controllers', 'cluster-worker']) {
      const known = VARIABLES[name];
      for (const variable of Object.keys(settings?.data ?? {})) expect(known).toContain(variable);
    }
  });
});

describe('the host worker', () => {
  const unit = readFileSync(join(DEPLOY, 'host', 'slipway-host-worker.service'), 'utf8');
  const environment = readFileSync(join(DEPLOY, 'host', 'host-worker.env'), 'utf8');

  it('is started before the kubelet, and always again', () => {
    expect(unit).toMatch(/^Before=kubelet\.service$/m);
    expect(unit).toMatch(/^Restart=always$/m);
    expect(unit).toMatch(/^ExecStart=\S*slipway host-worker$/m);
  });

  it('is told only settings that it knows', () => {
    // The last two are for the C library and for Node.
    const known = [...(VARIABLES['host-worker'] ?? []), 'MALLOC_ARENA_MAX', 'NODE_OPTIONS'];
    const named = [
      ...environment.matchAll(/^([A-Z_]+)=/gm),
      ...unit.matchAll(/^Environment=([A-Z_]+)=/gm),
    ].map(([, variable]) => variable);

    expect(named.length).toBeGreaterThan(3);
    for (const variable of named) expect(known).toContain(variable);
  });

  it('keeps its state where the unit makes the directory', () => {
    expect(unit).toMatch(/^StateDirectory=slipway$/m);
    expect(existsSync(join(DEPLOY, 'host', 'host-worker.env'))).toBe(true);
  });
});
