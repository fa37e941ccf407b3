import { gunzipSync } from 'node:zlib';
import { decodeDataUrl } from '../../../../core/encoding';
import {
  bootstrapKubeconfig,
  FIRST_BOOT_FILE,
  firstBootConfig,
  readServedIgnition,
  servedConfigName,
  type FirstBootFacts,
} from '../../../../core/first-boot';
import { OUTPUT_VERSIONS, type OutputVersion } from '../../../../core/ignition';
import type { IgnitionConfig, MachineConfig } from '../../../../core/machine-config/types';
import { parse } from 'yaml';

const FACTS: FirstBootFacts = {
  kubeconfig: 'apiVersion: v1\n',
  kubeletAuthority: Buffer.from('kubelet authority').toString('base64'),
  cloudAuthority: Buffer.from('cloud authority').toString('base64'),
  registryAuthorities: { 'registry.example.com:5000': 'registry authority' },
};

const REGISTRY_AUTHORITY = '/etc/docker/certs.d/registry.example.com:5000/ca.crt';

function aConfig(config: Partial<IgnitionConfig> = {}, spec: object = {}): MachineConfig {
  return {
    metadata: {
      name: 'rendered-worker-1',
      managedFields: [{ manager: 'somebody' }],
    } as MachineConfig['metadata'],
    spec: {
      osImageURL: 'registry.example.com/os@sha256:1',
      kernelArguments: ['quiet'],
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/a', contents: { source: 'data:,a' }, mode: 420 }] },
        ...config,
      },
      ...spec,
    },
  };
}

function serve(machineConfig: MachineConfig, version: OutputVersion, facts = FACTS) {
  const ignition = readServedIgnition(machineConfig, { gunzip: gunzipSync });
  const text = firstBootConfig({ machineConfig, ignition, facts, version });
  const served = JSON.parse(text) as IgnitionConfig;
  const files = served.storage?.files ?? [];
  const contents = (path: string): string => {
    const source = files.find((file) => file.path === path)?.contents?.source ?? '';
    const decoded = decodeDataUrl(source);
    if (decoded.error !== undefined) throw new Error(`${path}: ${decoded.error}`);
    return Buffer.from(decoded.bytes).toString();
  };
  return { text, served, files, paths: files.map(({ path }) => path), contents };
}

const BUNDLE_FILE = '/var/lib/kubelet/config.json';

describe('files of the bundle', () => {
  const bundleFiles = [
    { path: BUNDLE_FILE, mode: 0o600 as const, content: Buffer.from('{}').toString('base64') },
    {
      path: REGISTRY_AUTHORITY,
      mode: 0o644 as const,
      content: Buffer.from('new').toString('base64'),
    },
  ];

  it('are there with their modes, and win over the files of the server', () => {
    const { contents, files } = serve(aConfig(), '3.5', { ...FACTS, bundleFiles });

    expect(contents(BUNDLE_FILE)).toBe('{}');
    expect(files.find(({ path }) => path === BUNDLE_FILE)?.mode).toBe(0o600);
    expect(contents(REGISTRY_AUTHORITY)).toBe('new');
    expect(files.filter(({ path }) => path === REGISTRY_AUTHORITY)).toHaveLength(1);
  });

  it('leave a file of the config', () => {
    const storage = {
      files: [{ path: BUNDLE_FILE, contents: { source: 'data:,own' }, mode: 384 }],
    };

    expect(
      serve(aConfig({ storage }), '3.5', { ...FACTS, bundleFiles }).contents(BUNDLE_FILE),
    ).toBe('own');
  });
});

describe('the first config of a machine', () => {
  it('is the rendered config with the first files after its own, the encapsulated one last', () => {
    expect(serve(aConfig(), '3.5').paths).toEqual([
      '/etc/a',
      FIRST_BOOT_FILE.NODE_ANNOTATIONS,
      FIRST_BOOT_FILE.KUBECONFIG,
      FIRST_BOOT_FILE.SERVED_CONFIG,
      '/etc/docker/certs.d/registry.example.com:5000/ca.crt',
      FIRST_BOOT_FILE.KUBELET_AUTHORITY,
      FIRST_BOOT_FILE.CLOUD_AUTHORITY,
      FIRST_BOOT_FILE.ENCAPSULATED_CONFIG,
    ]);
  });

  it('tells the machine that it is on the config', () => {
    const { contents } = serve(aConfig(), '3.5');

    expect(JSON.parse(contents(FIRST_BOOT_FILE.NODE_ANNOTATIONS))).toEqual({
      'machineconfiguration.openshift.io/currentConfig': 'rendered-worker-1',
      'machineconfiguration.openshift.io/desiredConfig': 'rendered-worker-1',
      'machineconfiguration.openshift.io/firstPivotConfig': 'rendered-worker-1',
      'machineconfiguration.openshift.io/state': 'Done',
    });
  });

  it('keeps the whole MachineConfig for people, and one without Ignition for updates', () => {
    const { contents } = serve(aConfig(), '3.5');

    const whole = JSON.parse(contents(FIRST_BOOT_FILE.SERVED_CONFIG)) as MachineConfig;
    expect(whole).toEqual({
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfig',
      metadata: { name: 'rendered-worker-1' },
      spec: aConfig().spec,
    });
    expect(contents(FIRST_BOOT_FILE.SERVED_CONFIG)).toContain('\n    "kind"');
    expect(JSON.parse(contents(FIRST_BOOT_FILE.ENCAPSULATED_CONFIG))).toEqual({
      ...whole,
      spec: { ...whole.spec, config: { ignition: { version: '3.5.0' } } },
    });
  });

  it.each(OUTPUT_VERSIONS)('can be said in %s', (version) => {
    const { served, contents } = serve(aConfig(), version);

    expect(served.ignition.version).toBe(`${version}.0`);
    const encapsulated = JSON.parse(contents(FIRST_BOOT_FILE.ENCAPSULATED_CONFIG)) as MachineConfig;
    expect(encapsulated.spec.config).toEqual({
      ignition: { version: version === '2.2' ? '2.2.0' : '3.5.0' },
    });
  });

  it.each(['2.2', '3.1', '3.2'] as const)(
    'moves kernel arguments out of Ignition %s',
    (version) => {
      const config = aConfig({ kernelArguments: { shouldExist: ['mitigations=off'] } });
      const before = JSON.stringify(config);

      // Twice: one result must not leak into the next.
      serve(config, version);
      const { served, contents } = serve(config, version);

      expect(served.kernelArguments).toBeUndefined();
      const encapsulated = JSON.parse(
        contents(FIRST_BOOT_FILE.ENCAPSULATED_CONFIG),
      ) as MachineConfig;
      expect(encapsulated.spec.kernelArguments).toEqual(['quiet', 'mitigations=off']);
      expect(JSON.stringify(config)).toBe(before);
      // The current config of the machine is the rendered config, not this one.
      const whole = JSON.parse(contents(FIRST_BOOT_FILE.SERVED_CONFIG)) as MachineConfig;
      expect(whole.metadata.annotations?.['slipway.dev/moved-kernel-arguments']).toBe('1');
    },
  );

  it('leaves kernel arguments to an Ignition that knows them', () => {
    const config = aConfig({ kernelArguments: { shouldExist: ['a'], shouldNotExist: ['b'] } });

    const { served, contents } = serve(config, '3.3');

    expect(served.kernelArguments).toEqual({ shouldExist: ['a'], shouldNotExist: ['b'] });
    const encapsulated = JSON.parse(contents(FIRST_BOOT_FILE.ENCAPSULATED_CONFIG)) as MachineConfig;
    expect(encapsulated.spec.kernelArguments).toEqual(['quiet']);
    expect(contents(FIRST_BOOT_FILE.SERVED_CONFIG)).not.toContain('moved-kernel-arguments');
    expect(() => serve(config, '3.2')).toThrow(
      'cannot serve rendered-worker-1 as Ignition 3.2: kernelArguments.shouldNotExist needs 3.3',
    );
  });

  it('puts a newer authority in the place of the one in the config, whatever its encoding was', () => {
    const config = aConfig({
      storage: {
        files: [
          {
            path: FIRST_BOOT_FILE.KUBELET_AUTHORITY,
            mode: 384,
            contents: { source: 'data:;base64,H4sI', compression: 'gzip' },
          },
          { path: '/etc/z', contents: { source: 'data:,z' } },
        ],
      },
    });

    const { files, paths, contents } = serve(config, '3.4');

    expect(paths.slice(0, 2)).toEqual([FIRST_BOOT_FILE.KUBELET_AUTHORITY, '/etc/z']);
    expect(paths.filter((path) => path === FIRST_BOOT_FILE.KUBELET_AUTHORITY)).toHaveLength(1);
    expect(contents(FIRST_BOOT_FILE.KUBELET_AUTHORITY)).toBe('kubelet authority');
    expect(files[0]).toMatchObject({ mode: 384 });
    expect(files[0]?.contents?.compression).toBeUndefined();
  });

  it('gives each path once, where the config has a file of its own there', () => {
    const source = 'data:,mine';
    const config = aConfig({
      storage: {
        files: [
          { path: FIRST_BOOT_FILE.ENCAPSULATED_CONFIG, contents: { source } },
          { path: FIRST_BOOT_FILE.SERVED_CONFIG, contents: { source } },
        ],
      },
    });

    const { paths, contents } = serve(config, '3.5');

    expect(new Set(paths).size).toBe(paths.length);
    expect(paths.at(-1)).toBe(FIRST_BOOT_FILE.ENCAPSULATED_CONFIG);
    expect(contents(FIRST_BOOT_FILE.SERVED_CONFIG)).toContain('rendered-worker-1');
  });

  it.each([FIRST_BOOT_FILE.KUBECONFIG, REGISTRY_AUTHORITY])(
    'leaves %s to the config that brings it, so that the machine is on its config',
    (path) => {
      const file = { path, mode: 384, contents: { source: 'data:,mine' } };

      const { files, paths } = serve(aConfig({ storage: { files: [file] } }), '3.5');

      expect(files.filter((served) => served.path === path)).toEqual([file]);
      expect(new Set(paths).size).toBe(paths.length);
    },
  );

  it.each([FIRST_BOOT_FILE.KUBECONFIG, REGISTRY_AUTHORITY])(
    'adds no %s where the config has a link there',
    (path) => {
      const links = [{ path, target: '/usr/share/elsewhere' }];

      expect(serve(aConfig({ storage: { links } }), '3.5').paths).not.toContain(path);
    },
  );

  it.each([
    ['links', '/etc/docker'],
    ['links', '/etc/kubernetes'],
    ['files', '/etc/kubernetes'],
    ['directories', FIRST_BOOT_FILE.KUBECONFIG],
    ['links', FIRST_BOOT_FILE.KUBELET_AUTHORITY],
    ['directories', FIRST_BOOT_FILE.KUBELET_AUTHORITY],
    ['links', FIRST_BOOT_FILE.NODE_ANNOTATIONS],
  ] as const)('names what of the config is in its way: %s %s', (list, path) => {
    const entry = list === 'links' ? { path, target: '/usr/share/elsewhere' } : { path };
    const machineConfig = aConfig({ storage: { [list]: [entry] } });

    // Ignition 2.2 has no such rule.
    for (const version of OUTPUT_VERSIONS.filter((known) => known !== '2.2')) {
      expect(() => serve(machineConfig, version)).toThrow(
        expect.objectContaining({
          name: 'InvalidMachineConfig',
          message: expect.stringContaining(` ${path} `) as string,
        }) as Error,
      );
    }
  });

  it('leaves alone what is not in its way', () => {
    const links = [{ path: '/etc/docker/other', target: '/usr/a' }];
    const directories = [{ path: '/etc/kubernetes' }];

    expect(() => serve(aConfig({ storage: { links, directories } }), '3.5')).not.toThrow();
  });

  it('adds nothing that is not there to be added', () => {
    expect(serve(aConfig(), '3.5', { kubeletAuthority: '' }).paths).toEqual([
      '/etc/a',
      FIRST_BOOT_FILE.NODE_ANNOTATIONS,
      FIRST_BOOT_FILE.SERVED_CONFIG,
      FIRST_BOOT_FILE.ENCAPSULATED_CONFIG,
    ]);
  });

  it('takes an authority whose base 64 was broken into lines', () => {
    const { contents } = serve(aConfig(), '3.5', { kubeletAuthority: 'a3Vi\r\nZWxldA==\n' });

    expect(contents(FIRST_BOOT_FILE.KUBELET_AUTHORITY)).toBe('kubelet');
  });

  it('names the authority that cannot be read', () => {
    expect(() => serve(aConfig(), '3.5', { cloudAuthority: '-----BEGIN' })).toThrow(
      /cloud-config\/ca-bundle\.pem in the ControllerConfig is not base 64/,
    );
  });

  it('names what an old version cannot say', () => {
    const config = aConfig({
      storage: { luks: [{ name: 'data', device: '/dev/sdb', clevis: { tpm2: true } }] },
    });

    expect(() => serve(config, '3.1')).toThrow('storage.luks needs 3.2');
    expect(serve(config, '3.2').served.storage?.luks).toHaveLength(1);
  });
});

describe('the kubeconfig for bootstrapping', () => {
  it('is YAML, whatever is in the token', () => {
    const token = 'a: "b" #c\n';

    const read: unknown = parse(
      bootstrapKubeconfig({ server: 'https://api:6443', authority: 'QQ==', token }),
    );

    expect(read).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'local',
          cluster: { server: 'https://api:6443', 'certificate-authority-data': 'QQ==' },
        },
      ],
      users: [{ name: 'kubelet', user: { token } }],
      contexts: [{ name: 'kubelet', context: { cluster: 'local', user: 'kubelet' } }],
      'current-context': 'kubelet',
    });
  });
});

describe('the config that a pool serves', () => {
  const pool = (updatedMachineCount: number | undefined, now?: string, next?: string) => ({
    metadata: { name: 'worker' },
    spec: next === undefined ? {} : { configuration: { name: next } },
    status: {
      ...(updatedMachineCount === undefined ? {} : { updatedMachineCount }),
      ...(now === undefined ? {} : { configuration: { name: now } }),
    },
  });

  it.each([
    ['the new one once a machine is on it', pool(1, 'old', 'new'), 'new'],
    ['the old one until then', pool(0, 'old', 'new'), 'old'],
    ['the old one without a count', pool(undefined, 'old', 'new'), 'old'],
    ['none of a pool that has none', pool(0, undefined, 'new'), undefined],
    ['none with an empty name', pool(0, '', 'new'), undefined],
    ['none without a status', { metadata: { name: 'worker' }, spec: {} }, undefined],
  ])('is %s', (_what, given, expected) => {
    expect(servedConfigName(given)).toBe(expected);
  });

  it.each([
    ['not by a count of machines on the one before', 6, undefined, 'old'],
    ['by a count of machines on it', 7, undefined, 'new'],
    ['by what was known before the pool was paused, say', 6, 'new', 'new'],
    ['not by what was known of another one', 6, 'other', 'old'],
  ])('is verified %s', (_what, observedGeneration, proved, expected) => {
    const given = pool(1, 'old', 'new');
    const seen = {
      ...given,
      metadata: { name: 'worker', generation: 7 },
      status: { ...given.status, observedGeneration },
    };

    expect(servedConfigName(seen, proved)).toBe(expected);
  });
});
