import type { RegistryClient } from '../../../adapters/registry';
import { osSet, type OsSetOptions } from '../../../cli/commands/os-set';
import { EXIT } from '../../../cli/exit-codes';
import type { CliOs, ClusterOs } from '../../../cli/os/cluster-os';
import type { CliContext } from '../../../cli/ports';
import type { MachineConfig } from '../../../core/machine-config';
import { LABEL } from '../../../core/names';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aContext } from './os-context';

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
const image = (digit: string): string => `quay.io/okd/os@${digest(digit)}`;
const EMPTY: ClusterOs = { osImage: '', extensionsImage: '', releaseImage: '', version: '' };

function aPool(
  name: string,
  roles: readonly string[] = [name],
  sources: readonly string[] = [],
): MachineConfigPool {
  return {
    metadata: { name },
    spec: {
      machineConfigSelector: {
        matchExpressions: [{ key: LABEL.ROLE, operator: 'In', values: roles }],
      },
      configuration: { name: `rendered-${name}`, source: sources.map((one) => ({ name: one })) },
    },
  };
}

function aConfig(name: string, role: string, osImageURL: string): MachineConfig {
  return { metadata: { name, labels: { [LABEL.ROLE]: role } }, spec: { osImageURL } };
}

/** A registry that knows the digest of every tag, and is never asked for anything else. */
function given(
  pools: readonly MachineConfigPool[] = [aPool('worker')],
  configs: readonly MachineConfig[] = [],
  cluster: ClusterOs | undefined = EMPTY,
  release?: string,
) {
  const written: unknown[] = [];
  const os: CliOs = {
    ofCluster: () => Promise.resolve(cluster),
    releaseSet: () => Promise.resolve(release),
    machineConfig: (name) =>
      Promise.resolve(configs.find(({ metadata }) => metadata.name === name)),
    setForCluster: async (images) => void written.push(images),
    hasStreams: () => Promise.resolve(false),
    setStreams: () => Promise.reject(new Error('nobody sets streams')),
    setForPool: async (name, labels, images) => void written.push({ name, labels, ...images }),
  };
  const asked: string[] = [];
  const registry = {
    digest: async ({ name, tag }: { name: string; tag: string }) => {
      asked.push(`${name}:${tag}`);
      return digest('f');
    },
  } as unknown as RegistryClient;
  const { context, err } = aContext(os, { pools });
  const set = (what: string | undefined, options: Omit<OsSetOptions, 'registry'> = {}) =>
    osSet(context, what, { ...options, registry });
  return { set, os, written, asked, err };
}

describe('for the cluster', () => {
  it('writes image and extensions image into the ControllerConfig, and says how to go back', async () => {
    const before = { ...EMPTY, osImage: image('1'), extensionsImage: image('2') };
    const { set, written, asked, err } = given([aPool('worker')], [], before);

    expect(await set(image('3'), { extensions: image('4') })).toBe(EXIT.OK);
    expect(written).toEqual([{ osImage: image('3'), extensionsImage: image('4') }]);
    expect(asked).toEqual([]);
    expect(err.join('')).toBe(
      `ControllerConfig machine-config-controller: OS image ${image('3')}, extensions image ${image('4')}\n` +
        `the way back: slipway os set ${image('1')} --extensions ${image('2')}\n` +
        'watch it: slipway os status\n',
    );
  });

  it('goes back to a release by its name, which brings version and streams back, too', async () => {
    const release = `quay.io/okd/release@${digest('5')}`;
    const before = { osImage: image('1'), extensionsImage: image('2'), version: '4.20.0' };
    const cluster = { ...before, releaseImage: release };
    const { set, err } = given([aPool('worker')], [], cluster, release);
    await set(image('3'));
    expect(err.join('')).toContain(`the way back: slipway os set --release ${release}\n`);
  });

  it('takes away the extensions image of the old OS', async () => {
    const { set, written, err } = given([], [], undefined);
    await set(image('3'));
    expect(written).toEqual([{ osImage: image('3'), extensionsImage: '' }]);
    expect(err.join('')).toContain(`OS image ${image('3')}, no extensions image\nwatch it`);
  });

  it('looks up the digest of a tag, and leaves out a tag beside a digest', async () => {
    const { set, written, asked } = given();
    await set('quay.io/okd/os:4.20', { extensions: `quay.io/okd/os:4.19@${digest('4')}` });
    expect(asked).toEqual(['quay.io/okd/os:4.20']);
    expect(written).toEqual([{ osImage: image('f'), extensionsImage: image('4') }]);
  });

  it('names the pools that keep a stream, which custom pools inherit', async () => {
    const worker = aPool('worker');
    const spec = { ...worker.spec, osImageStream: { name: 'rhel-10' } };
    const { set, err } = given([aPool('gpu'), aPool('master'), { ...worker, spec }]);
    await set(image('3'));
    expect(err.join('').match(/^pool .*$/gm)).toEqual([
      'pool gpu keeps stream rhel-10 of OSImageStream cluster',
      'pool worker keeps stream rhel-10 of OSImageStream cluster',
    ]);
  });

  it('names the pools that keep another image', async () => {
    const pools = [
      aPool('gpu', ['worker', 'gpu'], ['50-os', '60-same']),
      aPool('same', ['same'], ['60-same', '70-gone']),
      aPool('worker'),
    ];
    const configs = [aConfig('50-os', 'gpu', image('1')), aConfig('60-same', 'worker', image('3'))];
    const { set, err } = given(pools, configs);
    await set(image('3'));
    expect(err.join('').match(/^pool .*$/gm)).toEqual([
      `pool gpu keeps ${image('1')} of MachineConfig 50-os`,
    ]);
  });
});

it('writes nothing for the cluster where it cannot read a MachineConfig', async () => {
  const { set, os, written } = given([aPool('gpu', ['gpu'], ['50-os'])]);
  os.machineConfig = () => Promise.reject(new Error('may not get machineconfigs'));
  await expect(set(image('3'))).rejects.toThrow('may not get machineconfigs');
  expect(written).toEqual([]);
});

describe('for one pool', () => {
  const pools = [
    aPool('gpu', ['worker', 'gpu']),
    aPool('worker'),
    aPool('fast', ['worker', 'gpu']),
  ];

  it('writes one MachineConfig with its role, and names what else selects it', async () => {
    const { set, written, err } = given(pools);
    await set(image('3'), { pool: 'gpu' });
    expect(written).toEqual([
      {
        name: '99-gpu-os',
        labels: { [LABEL.ROLE]: 'gpu' },
        osImage: image('3'),
        extensionsImage: '',
      },
    ]);
    expect(err.join('')).toBe(
      `MachineConfig 99-gpu-os: OS image ${image('3')}, no extensions image\n` +
        'its packages of extensions stay those of the ControllerConfig\n' +
        'pool fast selects it, too\n' +
        'back to the image of the cluster: kubectl delete machineconfig 99-gpu-os\n' +
        'watch it: slipway os status\n',
    );
  });

  it('gives it the other labels that the pool selects', async () => {
    const machineConfigSelector = { matchLabels: { [LABEL.ROLE]: 'gpu', site: 'north' } };
    const { set, written } = given([
      { metadata: { name: 'gpu' }, spec: { machineConfigSelector } },
    ]);
    await set(image('3'), { pool: 'gpu', extensions: image('4') });
    expect(written).toEqual([
      expect.objectContaining({
        labels: { [LABEL.ROLE]: 'gpu', site: 'north' },
        extensionsImage: image('4'),
      }),
    ]);
  });

  it('replaces its own, whatever image that had', async () => {
    const own = aConfig('99-gpu-os', 'gpu', image('1'));
    const { set, written } = given([aPool('gpu', ['gpu'], ['99-gpu-os'])], [own]);
    await set(image('3'), { pool: 'gpu' });
    expect(written).toHaveLength(1);
  });

  it.each([
    ['that takes the MachineConfigs of another role only', aPool('gpu', ['worker'])],
    [
      'with a selector that nobody can read',
      {
        metadata: { name: 'gpu' },
        spec: { machineConfigSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } },
      },
    ],
    ['that selects everything', { metadata: { name: 'gpu' }, spec: { machineConfigSelector: {} } }],
  ])('refuses a pool %s', async (_what, pool) => {
    const { set, written } = given([pool]);
    await expect(set(image('3'), { pool: 'gpu' })).rejects.toMatchObject({
      exitCode: EXIT.FAILED,
      message: expect.stringContaining(
        'machineconfigpool gpu: spec.machineConfigSelector does not select the role gpu',
      ) as unknown,
    });
    expect(written).toEqual([]);
  });

  it('refuses where another MachineConfig would win', async () => {
    const configs = [aConfig('99-zebra', 'gpu', image('1'))];
    const { set, written } = given([aPool('gpu', ['gpu'], ['99-zebra'])], configs);
    await expect(set(image('3'), { pool: 'gpu' })).rejects.toMatchObject({
      exitCode: EXIT.FAILED,
      message:
        'MachineConfig 99-zebra: spec.osImageURL comes after 99-gpu-os and would win; remove the field first',
    });
    expect(written).toEqual([]);
  });

  it('refuses a pool that has chosen a stream', async () => {
    const pool = aPool('gpu');
    const spec = { ...pool.spec, osImageStream: { name: 'rhel-10' } };
    const { set, written } = given([{ ...pool, spec }]);
    await expect(set(image('3'), { pool: 'gpu' })).rejects.toMatchObject({
      exitCode: EXIT.FAILED,
      message: expect.stringContaining(
        'machineconfigpool gpu: spec.osImageStream.name is rhel-10, and',
      ) as unknown,
    });
    expect(written).toEqual([]);
  });

  it('refuses where a pool that selects it, too, has chosen a stream', async () => {
    const gpu = aPool('gpu', ['worker', 'gpu']);
    const spec = { ...gpu.spec, osImageStream: { name: 'rhel-10' } };
    const { set, written, asked } = given([{ ...gpu, spec }, aPool('worker')]);
    await expect(set('quay.io/okd/os:4.20', { pool: 'worker' })).rejects.toMatchObject({
      exitCode: EXIT.FAILED,
      message:
        'machineconfigpool gpu: spec.osImageStream.name is rhel-10, and it selects the MachineConfigs of worker, too: ' +
        'a pool has either a stream or an image of its own; remove the field first',
    });
    expect(written).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('refuses a pool that is not there', async () => {
    await expect(given(pools).set(image('3'), { pool: 'lost' })).rejects.toMatchObject({
      exitCode: EXIT.NOT_FOUND,
    });
  });
});

it.each<[string, string | undefined, Omit<OsSetOptions, 'registry'>, string]>([
  ['nothing', undefined, {}, 'give either IMAGE or --release IMAGE'],
  ['an image and a release', image('1'), { release: image('2') }, 'give either IMAGE or --release'],
  [
    'a release with an extensions image',
    undefined,
    { release: image('1'), extensions: image('2') },
    '--release brings its own extensions image',
  ],
  [
    'a short name',
    'fedora-coreos:stable',
    {},
    'IMAGE: "fedora-coreos:stable" is not the full name',
  ],
  [
    'neither tag nor digest',
    'quay.io/okd/os',
    {},
    'IMAGE: "quay.io/okd/os" has neither tag nor digest; write registry/name@sha256:',
  ],
  [
    'a release with neither',
    undefined,
    { release: 'quay.io/okd/release' },
    '--release: "quay.io/okd/release" has neither tag nor digest',
  ],
  ['a short digest', 'quay.io/okd/os@sha256:abc', {}, 'IMAGE: "quay.io/okd/os@sha256:abc" is not'],
  ['a URL', 'docker://quay.io/okd/os', {}, 'IMAGE: "docker://quay.io/okd/os" is not the full name'],
  ['a wrong extensions image', image('1'), { extensions: '' }, '--extensions: "" is not the full'],
  [
    'a digest of another kind',
    `quay.io/okd/os@sha512:${'a'.repeat(128)}`,
    {},
    'has no digest of sha256; hosts take no other',
  ],
])('refuses %s and writes nothing', async (_what, what, options, message) => {
  const { set, written } = given();
  await expect(set(what, options)).rejects.toMatchObject({
    exitCode: EXIT.USAGE,
    message: expect.stringContaining(message) as unknown,
  });
  expect(written).toEqual([]);
});

it.each<[string | undefined, Omit<OsSetOptions, 'registry'>]>([
  ['fedora-coreos:stable', {}],
  [image('1'), { extensions: 'fedora-coreos:stable' }],
  [undefined, { release: 'fedora-coreos:stable' }],
])('refuses the wrong name of %s %j before it asks the cluster', async (what, options) => {
  const { context } = aContext({} as CliOs, {});
  const away: CliContext = { ...context, cluster: () => Promise.reject(new Error('away')) };
  const registry = {} as RegistryClient;
  await expect(osSet(away, what, { ...options, registry })).rejects.toThrow(
    '"fedora-coreos:stable" is not the full name of an image',
  );
});
