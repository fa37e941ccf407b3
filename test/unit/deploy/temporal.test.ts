/** deploy/temporal: what the server's own files do not check. test/integration/tools/temporal-postgres has the rest. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { sourceOf } from '../../../tools/binaries/catalogue';

const FOLDER = join(__dirname, '..', '..', '..', 'deploy', 'temporal');
const textOf = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');
const read = <T>(file: string): T => parse(textOf(file), { merge: true }) as T;

interface Kustomization {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly files: readonly string[] }[];
  readonly images: readonly { readonly newTag: string }[];
}

interface Container {
  readonly env?: readonly { readonly name: string }[];
  readonly ports?: readonly { readonly name: string }[];
}

interface Pods {
  readonly kind: string;
  readonly spec: {
    readonly selector?: object;
    readonly template?: { readonly spec: { readonly containers: readonly Container[] } };
  };
}

interface NetworkPolicy {
  readonly spec: {
    readonly podSelector: object;
    readonly ingress: readonly { readonly ports?: readonly { readonly port: string }[] }[];
  };
}

const kustomization = read<Kustomization>('kustomization.yaml');

it('has the release of the server that the tests run', () => {
  const { version } = sourceOf('temporal-server');

  expect(kustomization.images.map(({ newTag }) => newTag)).toEqual([version, version]);
});

it('applies every file, but what other tools read', () => {
  const files = kustomization.configMapGenerator.flatMap((generator) => generator.files);
  const others = [
    'kustomization.yaml',
    'chart-values.yaml',
    'backup.sh',
    'restore.sh',
    'forget.sh',
  ];

  expect([...kustomization.resources, ...files, ...others].sort()).toEqual(
    readdirSync(FOLDER).sort(),
  );
});

it('gives the chart of Temporal the same dynamic configuration', () => {
  const values = read<{ server: { dynamicConfig: unknown } }>('chart-values.yaml');

  expect(values.server.dynamicConfig).toEqual(read('dynamic-config.yaml'));
});

it('gives the server only variables that its configuration or its schema read', () => {
  const settings = read<{ data: Readonly<Record<string, string>> }>('settings.yaml');
  const inPods = kustomization.resources
    .flatMap((file) => parseAllDocuments(textOf(file)).map((one) => one.toJS() as Pods))
    .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
    .flatMap(({ env = [] }) => env.map(({ name }) => name));
  const readers = textOf('server.yaml') + textOf('schema.sh');

  for (const name of [...Object.keys(settings.data), ...inPods]) {
    expect(readers).toMatch(new RegExp(`\\b${name}\\b`));
  }
});

it('opens no port of a node, and lets in by the ports that its pods have', () => {
  const service = read<{ readonly spec: object }>('services.yaml');
  const policy = read<NetworkPolicy>('network-policy.yaml').spec;
  const [pods] = parseAllDocuments(textOf('server-deployment.yaml')).map(
    (one) => one.toJS() as Pods,
  );
  const lets = policy.ingress.flatMap(({ ports = [] }) => ports.map(({ port }) => port));
  const has = pods?.spec.template?.spec.containers.flatMap(({ ports = [] }) =>
    ports.map(({ name }) => name),
  );

  expect(service.spec).not.toHaveProperty('type');
  expect(policy.podSelector).toEqual(pods?.spec.selector);
  expect(lets).toEqual(['frontend', 'metrics']);
  expect(has).toEqual(expect.arrayContaining(lets));
});

it('has no password in it', () => {
  for (const file of readdirSync(FOLDER)) expect(textOf(file)).not.toMatch(/password: [^{]/);
});
