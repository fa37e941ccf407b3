import { gunzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';
import { lookAtRegistries, type RegistriesPicture } from '../../../../core/registries';
import type { MachineConfig } from '../../../../core/machine-config';
import { ANNOTATION } from '../../../../core/names';

const config = (name: string, paths: readonly string[] = [], from?: string): MachineConfig => ({
  metadata: {
    name,
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

const CONTAINERD = config('01-worker-container-runtime', ['/etc/containerd/config.toml']);

function look(
  more: Partial<RegistriesPicture> = {},
  configs: readonly MachineConfig[] = [CONTAINERD],
) {
  const { writes, ...said } = lookAtRegistries({
    pools: ['worker', 'master', 'infra'].map((name) => ({ metadata: { name }, spec: {} })),
    machineConfigs: { get: (name) => configs.find(({ metadata }) => metadata.name === name) },
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

test('a custom pool gets none: it has that of worker', () => {
  expect(look().writes.flat()).not.toContain('99-infra-generated-registries');
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

test('a release image that is no reference keeps no pool of containerd waiting', () => {
  const { writes } = look({ releaseImage: 'not a reference' });
  expect(writes).toEqual([['create', '99-worker-generated-registries']]);
});
