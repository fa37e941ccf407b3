import { parse as parseToml } from 'smol-toml';

import {
  bootstrapContainerRuntime,
  containerRuntimeFiles,
  containerRuntimeProblems,
  containerRuntimeRefusal,
  type ContainerRuntimeConfig,
} from '../../../../core/container-runtime';
import { fieldText } from '../../../../core/field-path';

const ON = { additionalStorage: true };
const OFF = { additionalStorage: false };
const STORAGE =
  '[storage]\ndriver = "overlay"\n[storage.options]\nadditionalimagestores = ["/old"]\n';
const input = { gates: ON, port: { parseToml }, storageConf: STORAGE };

describe('refusals', () => {
  it.each([
    [{ pidsLimit: 19 }, 'invalid PidsLimit 19'],
    [{ pidsLimit: -1 }, 'invalid PidsLimit -1'],
    [{ logSizeMax: '8Ki' }, 'invalid LogSizeMax "8Ki", cannot be less than 8kB'],
    [{ logSizeMax: '0.001' }, 'invalid LogSizeMax "1m", cannot be less than 8kB'],
    [{ overlaySize: '-1024Mi' }, 'invalid overlaySize "-1Gi", cannot be less than 0'],
    [
      { logLevel: 'Info' },
      'invalid LogLevel "Info", must be one of error, fatal, panic, warn, info, debug, or trace',
    ],
    [{ defaultRuntime: 'kata' }, 'invalid DefaultRuntime "kata", must be one of crun, runc'],
    [
      { additionalImageStores: [{ path: '/a' }, { path: 'b' }] },
      `invalid AdditionalImageStores path "b": must be an absolute path containing only alphanumeric characters, '/', '.', '_', and '-'`,
    ],
    [
      { additionalLayerStores: [{ path: '/a//b' }] },
      'invalid AdditionalLayerStores path "/a//b": must not contain consecutive forward slashes',
    ],
  ])('%j', (config, refusal) => {
    expect(containerRuntimeRefusal(config)).toBe(refusal);
  });

  it.each([
    undefined,
    {},
    { pidsLimit: 0 },
    { pidsLimit: 20 },
    { logSizeMax: '8193' },
    { logSizeMax: '-1' },
    { overlaySize: '0' },
    { logLevel: '', defaultRuntime: '' },
  ])('not of %j', (config) => {
    expect(containerRuntimeRefusal(config)).toBeUndefined();
  });

  it('names the field of a text that is no quantity', () => {
    expect(() => containerRuntimeRefusal({ overlaySize: '10GB' })).toThrow(
      'spec.containerRuntimeConfig.overlaySize: "10GB" is not a quantity',
    );
  });
});

describe('files', () => {
  it('are one per field, storage.conf first', () => {
    const { files } = containerRuntimeFiles(
      {
        additionalArtifactStores: [{ path: '/art' }],
        defaultRuntime: 'crun',
        logSizeMax: '10G',
        pidsLimit: 0,
        logLevel: 'info',
        overlaySize: '3G',
      },
      input,
    );
    expect(files.map(({ path }) => path.replace(/.*\/(01-ctrcfg-)?/, ''))).toEqual([
      ...['storage.conf', 'logLevel', 'pidsLimit', 'logSizeMax', 'defaultRuntime'],
      'additionalArtifactStores',
    ]);
    expect(files[2]?.contents).toBe('[crio]\n  [crio.runtime]\n    pids_limit = 0\n');
    expect(files[3]?.contents).toContain('log_size_max = 10000000000\n');
  });

  it('keep stores of the base until the config names some', () => {
    const contentsOf = (config: object, gates = ON) =>
      containerRuntimeFiles(config, { ...input, gates }).files[0]?.contents;
    expect(contentsOf({ overlaySize: '1G' })).toContain('additionalimagestores = ["/old"]');
    const stores = { additionalImageStores: [{ path: '/new' }] };
    expect(contentsOf(stores)).toContain('additionalimagestores = ["/new"]');
    expect(contentsOf(stores, OFF)).toBeUndefined();
    expect(contentsOf({ ...stores, overlaySize: '1G' }, OFF)).toContain('["/old"]');
  });

  it('need the feature gate for artifacts', () => {
    const stores = { additionalArtifactStores: [{ path: '/art' }] };
    expect(containerRuntimeFiles(stores, { ...input, gates: OFF }).files).toEqual([]);
  });

  it('leave storage.conf out when the base cannot be read, and say why', () => {
    const storageConf = '[storage\n';
    expect(containerRuntimeFiles({ overlaySize: '1G' }, { ...input, storageConf })).toEqual({
      files: [],
      storageError:
        "could not update container runtime config with new changes: error decoding crio config: toml: line 2: expected '.' or ']' to end table name, but got '\\n' instead",
    });
  });
});

describe('the first MachineConfigs', () => {
  const bootstrap = (...configs: ContainerRuntimeConfig[]) =>
    bootstrapContainerRuntime({
      configs,
      pools: [
        { name: 'worker', labels: { pool: 'worker' } },
        { name: 'infra', labels: { pool: 'infra' } },
      ],
      gates: OFF,
      port: { parseToml },
      controllerVersion: 'v1',
      storageConfOf: () => STORAGE,
    });
  const config = (spec: ContainerRuntimeConfig['spec']) => ({ metadata: { name: 'c' }, spec });
  const both = { matchExpressions: [{ key: 'pool', operator: 'Exists' }] };

  it('are one per pool that the selector matches, none without a selector', () => {
    const containerRuntimeConfig = { pidsLimit: 100 };
    const names = bootstrap(
      config({ containerRuntimeConfig }),
      config({ containerRuntimeConfig, machineConfigPoolSelector: both }),
    ).map(({ metadata }) => metadata.name);
    expect(names).toEqual([
      '99-worker-generated-containerruntime',
      '99-infra-generated-containerruntime',
    ]);
  });

  it('have files whose merge does not depend on other MachineConfigs', () => {
    const [made] = bootstrap(
      config({ containerRuntimeConfig: { logLevel: 'info' }, machineConfigPoolSelector: both }),
    );
    expect(made?.spec.config).toEqual({
      ignition: { version: '3.5.0' },
      storage: {
        files: [
          {
            path: '/etc/crio/crio.conf.d/01-ctrcfg-logLevel',
            overwrite: true,
            mode: 0o644,
            contents: {
              compression: '',
              source: `data:text/plain;charset=utf-8;base64,${Buffer.from('[crio]\n  [crio.runtime]\n    log_level = "info"\n').toString('base64')}`,
            },
          },
        ],
      },
    });
  });

  it('are refused for a second config of a pool', () => {
    const one = config({ containerRuntimeConfig: {}, machineConfigPoolSelector: both });
    expect(() => bootstrap(one, one)).toThrow(
      'error found multiple ContainerConfig targeting MachineConfigPool worker.',
    );
  });

  it('are refused for a config that says nothing, instead of a crash', () => {
    expect(() => bootstrap(config({ machineConfigPoolSelector: both }))).toThrow(
      'ContainerRuntimeConfig c: spec.containerRuntimeConfig is missing; add it',
    );
  });

  it('are refused for a selector that Kubernetes does not know', () => {
    const machineConfigPoolSelector = { matchExpressions: [{ key: 'a', operator: 'Bogus' }] };
    expect(() => bootstrap(config({ machineConfigPoolSelector }))).toThrow(
      'invalid label selector: "Bogus" is not a valid label selector operator',
    );
  });
});

describe('problems of accepted configs', () => {
  it.each([
    [{ logSizeMax: '0' }, 'spec.containerRuntimeConfig.logSizeMax', '0 is ignored'],
    [{ logSizeMax: '-5k' }, 'spec.containerRuntimeConfig.logSizeMax', '-5k means no limit'],
    [{ overlaySize: '0' }, 'spec.containerRuntimeConfig.overlaySize', '0 is ignored'],
    [
      { additionalImageStores: [{ path: '/a' }, { path: '/b' }, { path: '/a' }] },
      'spec.containerRuntimeConfig.additionalImageStores[2].path',
      '/a is the same as [0]',
    ],
    [
      {
        additionalLayerStores: ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ path: `/${name}` })),
      },
      'spec.containerRuntimeConfig.additionalLayerStores',
      '6 stores are more than the 5 that CRI-O is tested with',
    ],
  ])('%j', (config, path, problem) => {
    const problems = containerRuntimeProblems(config, ON);
    expect(problems.map((one) => [fieldText(one.path), one.problem])).toEqual([[path, problem]]);
  });

  it('name stores that the feature gate turns off', () => {
    const stores = { additionalArtifactStores: [{ path: '/a' }] };
    expect(containerRuntimeProblems(stores, ON)).toEqual([]);
    expect(containerRuntimeProblems(stores, OFF)).toEqual([
      expect.objectContaining({
        path: ['spec', 'containerRuntimeConfig', 'additionalArtifactStores'],
      }),
    ]);
  });
});
