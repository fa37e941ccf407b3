import { configText, fileSpec, findingsOf, poolText, renderTexts, ROLE } from './manifests';
import { newAuthority } from '../../../../tools/cluster/certificates';

const GOOD = configText('00-worker', 'worker', fileSpec('/etc/a'));

describe('manifests that can be rendered', () => {
  it('give a rendered config per pool', () => {
    const { pools, findings } = renderTexts({
      'pools.yaml': `${poolText('worker')}---\n${poolText('infra')}`,
      'a.yaml': GOOD,
      'b.yaml': configText('00-infra', 'infra', fileSpec('/etc/b')),
    });
    expect(findings).toEqual([]);
    expect(pools.map(({ pool, rendered }) => [pool.metadata.name, rendered.name])).toEqual([
      ['infra', expect.stringMatching(/^rendered-infra-[0-9a-f]{32}$/)],
      ['worker', expect.stringMatching(/^rendered-worker-[0-9a-f]{32}$/)],
    ]);
  });

  it('may come in any order, in lists, as JSON, with nulls: the name is the same', () => {
    const spec = { config: { ignition: { version: '3.2.0' } }, kernelArguments: ['a=1'] };
    const labels = { [ROLE]: 'worker' };
    const apiVersion = 'machineconfiguration.openshift.io/v1';
    const kind = 'MachineConfig';
    const name = '00-worker';
    const object = { apiVersion, kind, metadata: { name, labels }, spec };
    const withNulls = {
      ...object,
      metadata: { name, labels, creationTimestamp: null, annotations: null },
      spec: { ...spec, osImageURL: null, extensions: null },
    };
    const pool = poolText('worker');
    const bare = { metadata: object.metadata, spec };
    const variants = [
      { 'a.json': JSON.stringify(object), 'p.yaml': pool },
      { 'a.yaml': `${pool}---\n${JSON.stringify(withNulls)}\n` },
      {
        'a.json': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [object] }),
        'p.yaml': pool,
      },
      {
        'a.json': JSON.stringify({ apiVersion, kind: `${kind}List`, items: [bare] }),
        'p.yaml': pool,
      },
    ].map((files) => renderTexts(files));

    expect(variants.flatMap(({ findings }) => findings)).toEqual([]);
    const names = variants.map(({ pools }) => pools[0]?.rendered.name);
    expect(names[0]).toMatch(/^rendered-worker-/);
    expect(new Set(names).size).toBe(1);
  });

  it('take the OS image from the ControllerConfig', () => {
    const image = `registry.example.com/os@sha256:${'1'.repeat(64)}`;
    const { pools } = renderTexts({
      'a.yaml': `${poolText('worker')}---\n${GOOD}---
apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata: {name: machine-config-controller}
spec: {baseOSContainerImage: ${image}, infra: {anything: true}}
`,
    });
    expect(pools[0]?.rendered.spec.osImageURL).toBe(image);
  });

  it('note a MachineConfig that wins over the OS image of the ControllerConfig', () => {
    const result = renderTexts({
      'a.yaml': `${poolText('worker')}---\n${GOOD}`,
      'b.yaml': `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 50-os, labels: {${ROLE}: worker}}
spec:
  osImageURL: ${image('2')}
`,
      'c.yaml': `apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata: {name: machine-config-controller}
spec: {baseOSContainerImage: ${image('1')}}
`,
    });
    expect(findingsOf(result)).toEqual([
      `note b.yaml:5 spec.osImageURL wins over ${image('1')} of the cluster`,
    ]);
    expect(result.pools[0]?.rendered.spec.osImageURL).toBe(image('2'));
  });

  const image = (digit: string) => `registry.example.com/os@sha256:${digit.repeat(64)}`;
  const streams = `apiVersion: machineconfiguration.openshift.io/v1alpha1
kind: OSImageStream
metadata: {name: cluster}
spec: {}
status:
  defaultStream: rhel-9
  availableStreams:
    - {name: rhel-9, osImage: ${image('1')}, osExtensionsImage: ${image('2')}}
    - {name: rhel-10, osImage: ${image('3')}, osExtensionsImage: ${image('4')}}
`;
  const chosen = '  osImageStream: {name: rhel-10}\n';

  it('take the OS image from the stream of a pool, or for a custom pool from that of worker', () => {
    const { pools, findings } = renderTexts({
      'a.yaml': `${GOOD}---\n${configText('00-infra', 'infra', fileSpec('/etc/b'))}`,
      'p.yaml': `${poolText('worker', chosen)}---\n${poolText('infra')}`,
      's.yaml': streams,
    });
    expect(findings).toEqual([]);
    expect(
      pools.map(({ rendered: { spec } }) => [spec.osImageURL, spec.baseOSExtensionsContainerImage]),
    ).toEqual([
      [image('3'), image('4')],
      [image('3'), image('4')],
    ]);
  });

  it.each([
    [
      'is not there',
      { 's.yaml': streams.replaceAll('rhel-10', 'rhel-11') },
      'OSImageStream cluster has no stream rhel-10',
    ],
    ['has no object', {}, 'there is no OSImageStream cluster'],
  ])('refuse a stream that %s, once, at the pool that names it', (_what, files, problem) => {
    const result = renderTexts({
      'a.yaml': `${GOOD}---\n${configText('00-infra', 'infra', fileSpec('/etc/b'))}`,
      'p.yaml': `${poolText('worker', chosen)}---\n${poolText('infra')}`,
      ...files,
    });
    expect(findingsOf(result)).toEqual([`error p.yaml:10 spec.osImageStream.name ${problem}`]);
  });

  it('refuse a stream beside an image of a MachineConfig', () => {
    const result = renderTexts({
      'a.yaml': GOOD,
      'b.yaml': configText('50-os', 'worker', `  osImageURL: ${image('5')}\n`),
      'p.yaml': poolText('worker', chosen),
      's.yaml': streams,
    });
    expect(findingsOf(result)).toEqual([
      expect.stringContaining('cannot override MachineConfig osImageURL and set') as unknown,
    ]);
  });

  it('refuse an image without digest at its place in the ControllerConfig', () => {
    const result = renderTexts({
      'a.yaml': `${poolText('worker')}---\n${GOOD}`,
      'b.yaml': `apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata: {name: machine-config-controller}
spec:
  infra: {anything: true}
  baseOSContainerImage: registry.example.com/os:latest
`,
    });
    expect(findingsOf(result)).toEqual([
      'error b.yaml:6 spec.baseOSContainerImage the image has no digest, and a tag may be another image on the next host',
    ]);
  });

  it('refuse certificates and secrets of machines that no host could use', async () => {
    const authorities = (kubelet: string, cloud: string, more = ''): readonly string[] =>
      findingsOf(
        renderTexts({
          'a.yaml': `${poolText('worker')}---\n${GOOD}`,
          'b.yaml': `apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata: {name: machine-config-controller}
spec:
  kubeAPIServerServingCAData: ${kubelet}
  cloudProviderCAData: ${cloud}
${more}`,
        }),
      );
    expect(authorities('"-----BEGIN CERTIFICATE-----"', 'YQ=')).toEqual([
      'error b.yaml:5 spec.kubeAPIServerServingCAData is not base 64',
      'error b.yaml:6 spec.cloudProviderCAData is not base 64',
    ]);
    const pem = Buffer.from((await newAuthority('a')).certificate).toString('base64');
    const lines = `"${pem.slice(0, 64)}\\n${pem.slice(64)}"`;
    expect(authorities(lines, "''")).toEqual([]);
    const secret = '  pullSecret: {namespace: a, name: b}\n';
    const registry = '  imageRegistryBundleData: [{file: a, data: YQ==}]\n';
    expect(authorities(lines, "''", secret + registry)).toEqual([
      'error b.yaml:8 spec.imageRegistryBundleData[0].data holds no certificate in PEM',
    ]);
  });

  it('may hold other kinds, which are counted', () => {
    const { findings, leftOut } = renderTexts({
      'a.yaml': `${poolText('worker')}---\n${GOOD}`,
      'b.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: Kustomization\napiVersion: x/v1\n',
    });
    expect(findings).toEqual([]);
    expect(Object.fromEntries(leftOut)).toEqual({ ConfigMap: 1, Kustomization: 1 });
  });

  it('without a pool are checked all the same', () => {
    expect(findingsOf(renderTexts({ 'a.yaml': GOOD }))).toEqual([]);
    const bad = configText('00-worker', 'worker', fileSpec('etc/a'));
    expect(findingsOf(renderTexts({ 'a.yaml': bad }))).toEqual([
      'error a.yaml:12 spec.config.storage.files[0].path path not absolute',
    ]);
  });
});

describe('each problem has its line', () => {
  const first = 'error a.yaml';
  it.each<[string, string, string]>([
    ['a text that is no YAML', 'a: [\n', `${first}:2`],
    ['something that is no object', 'a b\n', `${first}:1 not a Kubernetes object`],
    ['objects in a bare list', '- kind: MachineConfig\n', `${first}:1 not a Kubernetes object`],
    [
      'an object of ours without kind',
      GOOD.replace('kind: MachineConfig\n', ''),
      `${first}:1 apiVersion or kind is missing`,
    ],
    [
      'an object of ours without apiVersion',
      GOOD.replace(/apiVersion: .*\n/, ''),
      `${first}:1 apiVersion or kind is missing`,
    ],
    [
      'an object without both',
      GOOD.replace(/apiVersion: .*\nkind: .*\n/, ''),
      `${first}:1 apiVersion or kind is missing`,
    ],
    [
      'another version of the API',
      GOOD.replace('openshift.io/v1', 'openshift.io/v1beta1'),
      `${first}:1 apiVersion this version is not served`,
    ],
    ['a name with capitals', GOOD.replace('00-worker', 'A'), `${first}:4 metadata.name`],
    ['no name', GOOD.replace('  name: 00-worker\n', ''), `${first}:3 metadata.name`],
    [
      'a label that is a boolean',
      GOOD.replace(`${ROLE}: worker`, `${ROLE}: worker\n    x: yes`),
      `${first}:7 metadata.labels.x expected string, received boolean`,
    ],
    [
      'a label with a blank',
      GOOD.replace(`${ROLE}: worker`, `${ROLE}: worker\n    x: a b`),
      `${first}:7 metadata.labels.x not a value of a label`,
    ],
    ['no spec', GOOD.slice(0, GOOD.indexOf('spec:')), `${first}:1 spec the field is missing`],
    [
      'a field of the wrong type',
      configText('00-worker', 'worker', '  fips: "yes"\n'),
      `${first}:8 spec.fips expected boolean, received string`,
    ],
    [
      'an unknown field',
      configText('00-worker', 'worker', '  kernelTyp: realtime\n'),
      'warning a.yaml:8 spec.kernelTyp unknown field',
    ],
    [
      'a kernel type that does not exist',
      configText('00-worker', 'worker', '  kernelType: fast\n'),
      `${first}:8 spec.kernelType "fast" is no kernel type`,
    ],
    [
      'a file without contents',
      configText('00-worker', 'worker', fileSpec('/etc/a', 'overwrite: false')),
      `${first}:12 spec.config.storage.files[0].contents.source no MachineConfig`,
    ],
    [
      'kernel-devel with another kernel',
      configText('00-worker', 'worker', '  kernelType: realtime\n  extensions: [kernel-devel]\n'),
      `${first}:9 spec.extensions[0] installing kernel-devel extension is not supported`,
    ],
  ])('%s', (_what, text, expected) => {
    const found = findingsOf(renderTexts({ 'a.yaml': text, 'p.yaml': poolText('worker') }));
    expect(found.filter((line) => line.startsWith(expected))).toHaveLength(1);
  });

  it.each<[string, string, string]>([
    [
      'maxUnavailable 0',
      poolText('worker', '  maxUnavailable: 0\n'),
      ':10 spec.maxUnavailable is 0',
    ],
    [
      'no nodeSelector',
      poolText('worker').replace(/ {2}nodeSelector:[^]*/, ''),
      ':5 spec.nodeSelector is missing',
    ],
    [
      'no machineConfigSelector',
      poolText('worker').replace(/ {2}machineConfigSelector:\n.*\n/, ''),
      ':5 spec.machineConfigSelector is missing',
    ],
    [
      'a selector of everything',
      poolText('worker').replace(`\n    matchLabels: {${ROLE}: worker}`, ' {}'),
      ':6 spec.machineConfigSelector selects every MachineConfig',
    ],
    [
      'an unknown operator',
      poolText('worker').replace(
        `matchLabels: {${ROLE}: worker}`,
        'matchExpressions: [{key: a, operator: Like}]',
      ),
      ':7 spec.machineConfigSelector.matchExpressions[0].operator',
    ],
  ])('of a pool: %s', (_what, text, expected) => {
    const found = findingsOf(renderTexts({ 'a.yaml': GOOD, 'p.yaml': text }));
    expect(found.filter((line) => line.startsWith(`error p.yaml${expected}`))).toHaveLength(1);
  });

  it('all of them at once', () => {
    const found = findingsOf(
      renderTexts({
        'a.yaml': `a: 'x\n`,
        'b.yaml': configText('10-b', 'worker', '  kernelType: fast\n  extensions: [one, two]\n'),
        'c.yaml': configText('10-c', 'worker', fileSpec('etc/c')),
        'd.yaml': configText('10-c', 'worker', '  fips: 1\n'),
        'p.yaml': poolText('worker', '  maxUnavailable: many\n  paused: "no"\n'),
      }),
    );
    expect(found.map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      expect.stringMatching(/^error a\.yaml:/),
      'error b.yaml:8 spec.kernelType',
      'error b.yaml:9 spec.extensions[0]',
      'error b.yaml:9 spec.extensions[1]',
      'error c.yaml:12 spec.config.storage.files[0].path',
      'error d.yaml:4 metadata.name',
      'error d.yaml:8 spec.fips',
      'error p.yaml:11 spec.paused',
    ]);
  });
});

describe('every problem is reported at once', () => {
  const config = (sections: string, version = '3.4.0'): string =>
    `  config:\n    ignition: {version: ${version}}\n${sections}`;

  it('also behind what Ignition itself refuses in the same config', () => {
    const spec = config(`    storage:
      files:
        - {path: etc/a, contents: {source: "data:,"}}
        - {path: /proc/a, contents: {source: "data:,"}}
        - {path: /etc/b, mode: 01777, contents: {source: "data:,"}}
    passwd:
      users:
        - {name: core, passwordHash: "a:b"}
`);
    const found = renderTexts({
      'a.yaml': configText('a', 'worker', spec),
      'p.yaml': poolText('worker'),
    });
    expect(findingsOf(found)).toEqual([
      expect.stringMatching(/^error a\.yaml:12 spec\.config\.storage\.files\[0\]\.path /),
      expect.stringMatching(/^error a\.yaml:13 spec\.config\.storage\.files\[1\]\.path /),
      expect.stringMatching(/^error a\.yaml:14 spec\.config\.storage\.files\[2\]\.mode /),
      expect.stringMatching(/^error a\.yaml:17 spec\.config\.passwd\.users\[0\]\.passwordHash /),
    ]);
  });

  it('also what the sound MachineConfigs of a pool come to together', () => {
    const found = renderTexts({
      'a.yaml': configText('a', 'worker', fileSpec('etc/relative')),
      'b.yaml': configText('b', 'worker', fileSpec('/etc/foo')),
      'c.yaml': configText('c', 'worker', fileSpec('/etc/foo/bar')),
      'd.yaml': configText('d', 'worker', '  extensions: [usbguard, kernel-devel]\n'),
      'e.yaml': configText('e', 'worker', '  kernelType: realtime\n'),
      'p.yaml': poolText('worker'),
    });
    expect(findingsOf(found)).toEqual([
      expect.stringMatching(/^error a\.yaml:12 spec\.config\.storage\.files\[0\]\.path /),
      expect.stringMatching(
        /^error c\.yaml:12 spec\.config\.storage\.files\[0\] .* cannot be below/,
      ),
      'error d.yaml:8 spec.extensions[1] installing kernel-devel extension is not supported with kernelType: realtime of MachineConfig e',
    ]);
  });

  it('at the user that Ignition 2 cannot have', () => {
    const spec = config(
      '    passwd:\n      users:\n        - name: core\n        - name: bob\n',
      '2.2.0',
    );
    expect(findingsOf(renderTexts({ 'a.yaml': configText('a', 'worker', spec) }))).toEqual([
      'error a.yaml:13 spec.config.passwd.users[1].name unexpected user with name: bob. Only core user is supported',
    ]);
  });
});

describe('what is too large is refused', () => {
  const large = (name: string, bytes = 900_000): string =>
    configText(
      name,
      'worker',
      fileSpec(`/etc/${name}`, `contents: {source: "data:,${'x'.repeat(bytes)}"}`),
    );
  const pool = { 'p.yaml': poolText('worker') };

  it('an object by itself', () => {
    const found = [
      'error a.yaml:8 spec.config the object has 1600298 bytes, and the API server stores at most 1572864',
    ];
    expect(findingsOf(renderTexts({ 'a.yaml': large('one', 1_600_000), ...pool }))).toEqual(found);
    expect(findingsOf(renderTexts({ 'a.yaml': large('one', 1_600_000) }))).toEqual(found);
  });

  it('all of a pool together, also where the pool is elsewhere', () => {
    const both = { 'a.yaml': large('one'), 'b.yaml': large('two', 900_001) };
    const problem = expect.stringMatching(
      /^error p\.yaml:1 the rendered config of pool worker has 18\d+ bytes/,
    ) as string;
    expect(findingsOf(renderTexts({ ...both, ...pool }))).toEqual([problem]);
    expect(findingsOf(renderTexts(both))).toEqual([
      expect.stringMatching(/^error b\.yaml:1 the rendered config of pool worker has 18\d+ bytes/),
    ]);
  });
});

describe('what has no effect is a warning', () => {
  it('a role without a pool', () => {
    const found = renderTexts({
      'a.yaml': GOOD,
      'b.yaml': configText('98-b', 'wroker', fileSpec('/etc/b')),
      'p.yaml': poolText('worker'),
    });
    expect(findingsOf(found)).toEqual([
      `warning b.yaml:6 metadata.labels["${ROLE}"] no pool selects the role "wroker"`,
    ]);
    expect(found.findings[0]?.fix).toContain('worker');
    expect(found.pools).toHaveLength(1);
  });

  it('pinned images of a pool that are not among the manifests', () => {
    const more = '  pinnedImageSets: [{name: a}]\n';
    const found = renderTexts({ 'a.yaml': GOOD, 'p.yaml': poolText('worker', more) });
    expect(findingsOf(found)).toEqual([
      'warning p.yaml:10 spec.pinnedImageSets[0].name there is no PinnedImageSet a among the manifests',
    ]);
    expect(found.pools).toHaveLength(1);
  });

  it('no pinned images that are; one by tag is an error', () => {
    const set = (image: string) => `apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata: {name: a}
spec:
  pinnedImages:
    - name: ${image}
`;
    const more = '  pinnedImageSets: [{name: a}]\n';
    const files = { 'a.yaml': GOOD, 'p.yaml': poolText('worker', more) };
    const image = `registry.example.com/app@sha256:${'1'.repeat(64)}`;
    expect(findingsOf(renderTexts({ ...files, 's.yaml': set(image) }))).toEqual([]);
    expect(
      findingsOf(renderTexts({ ...files, 's.yaml': set('registry.example.com/app:1') })),
    ).toEqual([
      expect.stringMatching(
        /^error s\.yaml:6 spec\.pinnedImages\[0\]\.name the image has no digest/,
      ),
    ]);
  });

  it.each([
    ['pinnedImages: []', 'spec.pinnedImages is empty'],
    ["pinnedImages: [{name: ''}]", 'spec.pinnedImages[0].name is empty'],
    [
      `pinnedImages: [{name: ${'a'.repeat(448)}}]`,
      'spec.pinnedImages[0].name has more than 447 characters',
    ],
    ['pinnedImages: [{}]', 'spec.pinnedImages[0].name the field is missing'],
  ])('a set with %.30s is an error', (spec, problem) => {
    const text = `apiVersion: machineconfiguration.openshift.io/v1\nkind: PinnedImageSet\nmetadata: {name: a}\nspec: {${spec}}\n`;
    expect(findingsOf(renderTexts({ 'a.yaml': GOOD, 's.yaml': text }))).toEqual([
      `error s.yaml:4 ${problem}`,
    ]);
  });

  it('a set that no pool has; one with the label of a role has the pools of that', () => {
    const set = (
      name: string,
      labels: string,
    ): string => `apiVersion: machineconfiguration.openshift.io/v1
kind: PinnedImageSet
metadata: {name: ${name}, labels: {${labels}}}
spec: {pinnedImages: [{name: "registry.example.com/app@sha256:${'1'.repeat(64)}"}]}
`;
    const files = {
      ...{ 'a.yaml': GOOD, 'p.yaml': poolText('worker') },
      'b.yaml': set('b', 'machineconfiguration.openshift.io/role: worker'),
      'c.yaml': set('c', 'machineconfiguration.openshift.io/role: wroker'),
    };
    expect(findingsOf(renderTexts(files))).toEqual([
      'warning c.yaml:3 metadata no pool has this set',
    ]);
  });

  it('a pool without the name of a set is an error', () => {
    const more = '  pinnedImageSets: [{}]\n';
    const found = renderTexts({ 'a.yaml': GOOD, 'p.yaml': poolText('worker', more) });
    expect(findingsOf(found)).toEqual([
      'error p.yaml:10 spec.pinnedImageSets[0].name the field is missing',
    ]);
  });

  it('an OSImageStream that cannot be read, and not that the pool would have none', () => {
    const stream = `apiVersion: machineconfiguration.openshift.io/v1alpha1
kind: OSImageStream
metadata: {name: cluster}
spec: {}
status: {defaultStream: a, availableStreams: [{name: a, osImage: '', osExtensionsImage: b}]}
`;
    const more = '  osImageStream: {name: a}\n';
    const files = { 'a.yaml': GOOD, 'p.yaml': poolText('worker', more), 's.yaml': stream };
    expect(findingsOf(renderTexts(files))).toEqual([
      'error s.yaml:5 status.availableStreams[0].osImage is empty',
    ]);
  });

  it('a policy without a pool; an impossible one is an error', () => {
    const policy = (name: string, spec: string): string =>
      `apiVersion: slipway.dev/v1alpha1\nkind: RolloutPolicy\nmetadata:\n  name: ${name}\nspec:\n  ${spec}\n`;
    const found = renderTexts({
      'a.yaml': GOOD,
      'b.yaml': policy('wroker', 'trigger: Manual'),
      'c.yaml': policy('worker', 'failureThreshold: 0%'),
      'p.yaml': poolText('worker'),
    });
    expect(findingsOf(found)).toEqual([
      'warning b.yaml:4 metadata.name there is no pool of this name',
      'error c.yaml:6 spec.failureThreshold is "0%", which is impossible',
    ]);
  });
});

describe('against an earlier render', () => {
  const pool = poolText('worker');
  const before = renderTexts({ 'a.yaml': GOOD, 'p.yaml': pool }).pools[0]?.rendered;
  const earlier = new Map([
    ['worker', { metadata: { name: before?.name ?? '' }, spec: before?.spec ?? {} }],
  ]);

  it('a file may change', () => {
    const changed = configText('00-worker', 'worker', fileSpec('/etc/other'));
    const { findings, pools } = renderTexts({ 'a.yaml': changed, 'p.yaml': pool }, earlier);
    expect(findings).toEqual([]);
    expect(pools).toHaveLength(1);
  });

  it('a directory may not, and the MachineConfig that brings it is named', () => {
    const directory = configText(
      '50-directory',
      'worker',
      '  config:\n    ignition: {version: 3.2.0}\n    storage: {directories: [{path: /etc/new}]}\n',
    );
    const files = { 'a.yaml': GOOD, 'b.yaml': directory, 'p.yaml': pool };
    expect(renderTexts(files).findings).toEqual([]);
    expect(findingsOf(renderTexts(files, earlier))).toEqual([
      expect.stringMatching(/^error b\.yaml:1 .*directories section contains changes/),
    ]);
  });
});

it('no finding quotes contents of a config', () => {
  const secret = 'c2VjcmV0';
  const { findings } = renderTexts({
    'a.yaml': configText(
      '00-a',
      'worker',
      fileSpec('/etc/a', `contents: {source: "data;${secret}"}`),
    ),
    'b.yaml': configText('00-b', 'worker', fileSpec('/etc/b', `contents: {source: "${secret}\n`)),
    'c.yaml': configText('00-c', 'worker', `  config: ${secret}\n`),
    'd.yaml': configText('00-d', 'worker', `  kernelArguments: {a: ${secret}}\n`),
  });
  expect(findings.length).toBeGreaterThanOrEqual(4);
  expect(JSON.stringify(findings)).not.toContain(secret);
});
