import { gunzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';
import { lookAtRegistries, type RegistriesPicture } from '../../../../core/registries';
import type { IgnitionConfig, MachineConfig } from '../../../../core/machine-config';
import type { MachineConfigPool } from '../../../../core/pool/types';
import { ANNOTATION, LABEL } from '../../../../core/names';

const config = (name: string, paths: readonly string[] = [], from?: string): MachineConfig => ({
  metadata: {
    name,
    labels: { [LABEL.ROLE]: name.split('-')[1] ?? '' },
    annotations: {
      [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: 'v0',
      ...(from === undefined ? {} : { [ANNOTATION.GENERATED_FROM]: from }),
    },
  },
  spec: {
    config: {
      ignition: { version: '3.5.0' },
      storage: { files: paths.map((path) => ({ path, contents: { source: 'data:,' } })) },
    },
  },
});

function aPool(name: string, roles: readonly string[] = [name]): MachineConfigPool {
  const machineConfigSelector = {
    matchExpressions: [{ key: LABEL.ROLE, operator: 'In', values: roles }],
  };
  return { metadata: { name }, spec: { machineConfigSelector } };
}

const CONTAINERD = config('01-worker-container-runtime', ['/etc/containerd/config.toml']);

function look(
  more: Partial<RegistriesPicture> = {},
  configs: readonly MachineConfig[] = [CONTAINERD],
) {
  const { writes, ...said } = lookAtRegistries({
    pools: [aPool('worker'), aPool('master'), aPool('infra', ['worker', 'infra'])],
    machineConfigs: {
      get: (name) => configs.find(({ metadata }) => metadata.name === name),
      list: () => configs,
    },
    image: { metadata: { name: 'cluster', uid: 'u' }, spec: {} },
    mirrors: { contentSourcePolicies: [], digestMirrorSets: [], tagMirrorSets: [] },
    ...{ clusterImagePolicies: [], imagePolicies: [], releaseImage: undefined, version: 'v1' },
    toml: { parseToml },
    gunzip: (bytes) => gunzipSync(bytes),
    ...more,
  });
  return {
    ...said,
    writes: writes.map((write) => [
      write.do,
      write.do === 'remove' ? write.name : write.config.metadata.name,
    ]),
  };
}

test('a pool whose machines nobody describes keeps no other one waiting', () => {
  const { writes, refused } = look();
  expect(writes).toEqual([['create', '99-worker-generated-registries']]);
  expect(refused).toEqual([expect.stringContaining('01-master-container-runtime is missing')]);
});

const RUNTIME = ['/etc/containerd/config.toml'];
const INFRA = '99-infra-generated-registries';

test.each<readonly [string, readonly string[], readonly MachineConfig[], readonly string[]]>([
  ['none, because it has that of worker', ['worker', 'infra'], [], []],
  ['its own when it does not select that of worker', ['infra'], [], ['create', INFRA]],
  [
    'its own when files of its own would win over it',
    ['worker', 'infra'],
    [config('01-infra-container-runtime', RUNTIME)],
    ['create', INFRA],
  ],
  ['none when it would not select it', ['worker'], [], []],
  [
    'one that MCO left kept right, because it wins',
    ['worker', 'infra'],
    [config(INFRA)],
    ['replace', INFRA],
  ],
  [
    'its own taken away when it has that of worker',
    ['worker', 'infra'],
    [config(INFRA, [], 'registries')],
    ['remove', INFRA],
  ],
])('a custom pool gets %s', (_, roles, more, expected) => {
  const pools = [aPool('worker'), aPool('infra', roles)];
  const { writes } = look({ pools }, [CONTAINERD, ...more]);
  expect(writes.filter(([, name]) => name === INFRA).flat()).toEqual(expected);
});

test('the runtime of a pool with MachineConfigs of its own alone is not that of worker', () => {
  const own = config('01-infra-container-runtime', RUNTIME);
  const worker = config('01-worker-container-runtime', ['/etc/containers/policy.json']);
  const { refused, writes } = look({ pools: [aPool('infra', ['infra'])] }, [own, worker]);
  expect(refused).toEqual([]);
  expect(writes).toEqual([['create', INFRA]]);
});

test('a file that cannot be read is refused, and does not count as missing', () => {
  const broken = config('01-worker-container-runtime', [...RUNTIME, '/etc/containers/policy.json']);
  const files = (broken.spec.config as IgnitionConfig).storage?.files;
  const remote = files?.map((file, i) =>
    i === 1 ? { ...file, contents: { source: 'https://example.com/policy.json' } } : file,
  );
  const spec = { config: { ignition: { version: '3.5.0' }, storage: { files: remote ?? [] } } };
  const { writes, refused } = look({ pools: [aPool('worker')] }, [{ ...broken, spec }]);
  expect(writes).toEqual([]);
  expect(refused).toEqual([
    expect.stringContaining('01-worker-container-runtime: /etc/containers/policy.json cannot be'),
  ]);
});

test('what is refused stays as it is', () => {
  const image = {
    metadata: { name: 'cluster' },
    spec: { registrySources: { blockedRegistries: ['*bad'] } },
  };
  const { writes, refused } = look({ image });
  expect(writes).toEqual([]);
  expect(refused.join()).toContain('*bad');
});

test('when nobody asks for any, its own goes, and that of another controller stays', () => {
  const own = config('99-worker-generated-registries', [], 'registries');
  const foreign = config('99-master-generated-registries');
  expect(look({ image: undefined }, [own, foreign]).writes).toEqual([
    ['remove', '99-worker-generated-registries'],
  ]);
});

test('the MachineConfig under its name of before OpenShift 4.7 is replaced', () => {
  const worker = aPool('worker');
  const pools = [{ ...worker, metadata: { ...worker.metadata, uid: 'u-1' } }];
  const { writes } = look({ pools }, [CONTAINERD, config('99-worker-u-1-registries')]);
  expect(writes).toEqual([
    ['create', '99-worker-generated-registries'],
    ['remove', '99-worker-u-1-registries'],
  ]);
});

test('a release image that is no reference keeps no pool of containerd waiting', () => {
  const { writes } = look({ releaseImage: 'not a reference' });
  expect(writes).toEqual([['create', '99-worker-generated-registries']]);
});
