/** Manifests as generators, exports and GitOps directories have them. */

import { join } from 'node:path';
import { readManifestFiles } from '../../../../adapters/manifests';
import { configText, fileSpec, findingsOf, poolText, renderTexts, ROLE } from './manifests';

const MCO = 'apiVersion: machineconfiguration.openshift.io/v1';
const GOOD = configText('00-worker', 'worker', fileSpec('/etc/a'));
const POOL = { 'p.yaml': poolText('worker') };
const GENERATED_BY = 'machineconfiguration.openshift.io/generated-by-controller-version';

const PEOPLE = join(__dirname, '..', '..', '..', 'fixtures', 'manifests', 'people');

it('what generators and people write is rendered, with nothing to say but who generated it', async () => {
  const { files } = await readManifestFiles(PEOPLE);
  const render = renderTexts(Object.fromEntries(files.map(({ path, text }) => [path, text])));
  expect(findingsOf(render)).toEqual([
    expect.stringMatching(/^note .*pool\.yaml:2 .* 00-people, 99-people-generated-kubelet; /),
  ]);
  expect(render.pools.map(({ sources }) => sources.length)).toEqual([25]);
});

describe('exported objects', () => {
  const exported = `apiVersion: v1
kind: List
metadata: {resourceVersion: "", selfLink: ""}
items:
- ${MCO}
  kind: MachineConfigPool
  metadata:
    {name: worker, generation: 3, resourceVersion: "1", uid: x, selfLink: /x, clusterName: c,
     creationTimestamp: "2024-01-01T00:00:00Z", managedFields: [{manager: m, operation: Update}]}
  spec:
    configuration: {name: rendered-worker-0123, source: [{apiVersion: v1, kind: MachineConfig, name: 00-worker}]}
    machineConfigSelector: {matchLabels: {${ROLE}: worker}}
    nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
    paused: false
  status:
    certExpirys: [{bundle: a, expiry: "2034-01-01T00:00:00Z", subject: CN=x}]
    conditions: [{type: RenderDegraded, status: maybe}]
    machineCount: many
    poolSynchronizersStatus: [{poolSynchronizerType: PinnedImageSets}]
- ${MCO}
  kind: ControllerConfig
  metadata: {name: machine-config-controller}
  spec: {cloudProviderConfig: "", infra: {a: null}, osImageURL: ""}
  status: {controllerCertificates: [{bundleFile: a}]}
- ${MCO}
  kind: MachineConfig
  metadata: {name: 00-worker, creationTimestamp: null, labels: {${ROLE}: worker}, ownerReferences: null}
  spec: {kernelArguments: [nosmt]}
  status: {}
- ${MCO}
  kind: MachineConfigNode
  metadata: {name: worker-1}
  spec: {node: {name: worker-1}}
  status: {whatever: 1}
- ${MCO}
  kind: PinnedImageSet
  metadata: {name: k, labels: {${ROLE}: worker}}
  spec: {pinnedImages: [{name: "registry.example.com/a@sha256:${'1'.repeat(64)}"}]}
  status: {conditions: []}
- apiVersion: operator.openshift.io/v1
  kind: MachineConfiguration
  metadata: {name: cluster}
  spec: {managementState: Managed, logLevel: null}
  status: {nodeDisruptionPolicyStatus: {clusterPolicies: {}}}
`;

  it('are checked without their status', () => {
    const { findings, pools, leftOut } = renderTexts({ 'a.yaml': exported });
    expect(findings).toEqual([]);
    expect(pools.map(({ pool }) => pool.metadata.name)).toEqual(['worker']);
    expect(Object.fromEntries(leftOut)).toEqual({ MachineConfigNode: 1 });
  });

  it('of MCO are rendered, with a note that names what its controllers generated', () => {
    const generated = (name: string): string =>
      configText(name, 'worker', fileSpec(`/etc/${name}`)).replace(
        '  labels:',
        `  annotations: {${GENERATED_BY}: abc}\n  labels:`,
      );
    const files = { 'a.yaml': generated('00-a'), 'b.yaml': generated('01-b'), 'c.yaml': GOOD };
    const note =
      'other controllers generated MachineConfigs 00-a, 01-b; rendered unchanged, and no controller here updates them';

    const render = renderTexts({ ...files, ...POOL });

    expect(findingsOf(render)).toEqual([`note p.yaml:1 ${note}`]);
    expect(render.findings[0]?.fix).toContain(GENERATED_BY);
    expect(render.pools).toHaveLength(1);
    expect(findingsOf(renderTexts(files))).toEqual([`note a.yaml:1 ${note}`]);
  });
});

describe('null is absent', () => {
  const nulls = (name: string): string => `${MCO}
kind: MachineConfig
metadata: {name: ${name}, creationTimestamp: null, annotations: null, finalizers: null, labels: {${ROLE}: worker, x: null}}
spec:
  config: {ignition: {version: 3.2.0, proxy: null}, passwd: null, storage: {files: null}}
  extensions: null
  fips: null
  kernelArguments: null
  kernelType: null
  osImageURL: null
  baseOSExtensionsContainerImage: null
status: null
`;
  const others = `${MCO}
kind: MachineConfigPool
metadata: {name: worker, labels: null}
spec:
  machineConfigSelector: {matchLabels: {${ROLE}: worker, gone: null}, matchExpressions: null}
  nodeSelector: {matchLabels: null, matchExpressions: [{key: a, operator: Exists, values: null}]}
  paused: null
  maxUnavailable: null
  osImageStream: null
  pinnedImageSets: null
  configuration: null
---
apiVersion: slipway.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: worker}
spec: {trigger: null, canary: null, failureThreshold: null, drain: {timeoutSeconds: null}, repair: null}
---
apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata: {name: cluster}
spec:
  irreconcilableValidationOverrides: null
  nodeDisruptionPolicy: {files: null, sshkey: null, units: [{name: a.service, actions: [{type: None, reload: null}]}]}
---
${MCO}
kind: ControllerConfig
metadata: {name: machine-config-controller}
spec: {osImageURL: null, baseOSContainerImage: null, kubeAPIServerServingCAData: null, cloudProviderCAData: null}
`;

  it('for every optional field of every kind', () => {
    const { findings, pools } = renderTexts({ 'a.yaml': nulls('50-rt'), 'b.yaml': others });
    expect(findings).toEqual([]);
    expect(pools).toHaveLength(1);
  });

  it('also where no pool selects the MachineConfig', () => {
    expect(findingsOf(renderTexts({ 'a.yaml': nulls('50-rt') }))).toEqual([]);
  });

  it('where a field is required, too', () => {
    const files = { 'a.yaml': `${MCO}\nkind: MachineConfig\nmetadata: {name: a}\nspec: null\n` };
    expect(findingsOf(renderTexts(files))).toEqual(['error a.yaml:4 spec the field is missing']);
  });
});

describe('documents that are no Kubernetes objects', () => {
  it('are left out and counted as what they are', () => {
    const { findings, leftOut, pools } = renderTexts({
      'a.yaml': GOOD,
      'base/kustomization.yaml': 'resources:\n  - a.yaml\nmetadata: {name: x}\n',
      'base/kustomization.yml': 'resources: [a.yaml]\n',
      'base/Kustomization': 'resources: [a.yaml]\n',
      'chart/Chart.yaml': 'apiVersion: v2\nname: a\nversion: 1.0.0\n',
      'chart/values.yaml': 'kind: DaemonSet\nmetadata: {}\nspec: {}\n',
      'chart/values-prod.yaml': 'replicas: 2\n',
      'chart/ci/test-values.yaml': 'spec: {}\n',
      'patch.yaml': '- op: replace\n  path: /spec/paused\n  value: true\n',
      'butane.yaml': 'variant: openshift\nversion: 4.14.0\nmetadata: {name: a}\n',
      'install-config.yaml': 'apiVersion: v1\nbaseDomain: example.com\nmetadata: {name: a}\n',
      'worker.json': '{"ignition": {"version": "3.2.0"}}',
      'deploy.yaml': 'kind: Deployment\nmetadata: {name: a}\nspec: {}\n',
      ...POOL,
    });
    expect(findings).toEqual([]);
    expect(pools).toHaveLength(1);
    expect(Object.fromEntries(leftOut)).toEqual({
      Kustomization: 3,
      'Helm chart': 1,
      'Helm values': 3,
      'Butane config': 1,
      Deployment: 1,
      'not of Kubernetes': 3,
    });
  });
});

it('a kernel argument that GRUB would read otherwise is a warning', () => {
  const text = configText('50-a', 'worker', '  kernelArguments: [nosmt, memmap=4G$4G]\n');
  const render = renderTexts({ ...POOL, 'a.yaml': text });

  expect(render.findings).toEqual([
    expect.objectContaining({
      severity: 'warning',
      field: 'spec.kernelArguments[1]',
      fix: 'write "\\$"',
    }),
  ]);
  expect(render.pools).toHaveLength(1);
});

it('a list without items is empty', () => {
  const none = '{"apiVersion": "v1", "kind": "List", "items": null}';
  const { findings, leftOut } = renderTexts({
    ...POOL,
    'a.yaml': configText('50-a', 'worker', '  fips: false\n'),
    'none.json': none,
  });

  expect(findings).toEqual([]);
  expect(Object.fromEntries(leftOut)).toEqual({});
});

it('templates of a chart, and patches that a kustomization names, are left out and counted', () => {
  const { findings, leftOut, pools } = renderTexts({
    'base/a.yaml': GOOD,
    'base/p.yaml': poolText('worker'),
    'overlay/kustomization.yaml':
      'resources: [../base]\npatches:\n  - path: ./pool.yaml\n  - patch: "- op: remove"\npatchesStrategicMerge: [old.yaml]\npatchesJson6902: [{path: six.yaml}]\n',
    'overlay/pool.yaml': `${MCO}\nkind: MachineConfigPool\nmetadata: {name: worker}\nspec: {paused: true}\n`,
    'overlay/old.yaml': GOOD,
    'overlay/six.yaml': '- op: add\n',
    'chart/Chart.yaml': 'apiVersion: v2\nname: a\n',
    'chart/templates/mc.yaml': '{{- if .Values.a }}\nkind: MachineConfig\n{{- end }}\n',
  });
  expect(findings).toEqual([]);
  expect(pools).toHaveLength(1);
  expect(Object.fromEntries(leftOut)).toEqual({
    ...{ Kustomization: 1, 'Kustomize patch': 3, 'Helm chart': 1, 'Helm template': 1 },
  });
});

describe('a part of what a cluster has', () => {
  const part = (files: Readonly<Record<string, string>>): readonly string[] =>
    findingsOf(renderTexts(files, undefined, 'elsewhere'));
  const lacking = configText(
    '50-mode',
    'worker',
    fileSpec('/etc/b', 'mode: 0600').replace('          mode: 0644\n', ''),
  );

  it('may be a pool alone: a warning, unless that is said; an error where all must be here', () => {
    const nothing =
      'p.yaml:6 spec.machineConfigSelector selects no MachineConfig among the manifests';
    expect(findingsOf(renderTexts(POOL))).toEqual([`warning ${nothing}`]);
    expect(part(POOL)).toEqual([]);
    expect(findingsOf(renderTexts(POOL, undefined, 'none'))).toEqual([
      'error p.yaml:6 spec.machineConfigSelector the selector of pool worker matches no MachineConfig',
    ]);
  });

  it('may lack pools, and contents that another MachineConfig brings', () => {
    const files = {
      ...POOL,
      'a.yaml': lacking,
      'b.yaml': configText('50-x', 'gup', fileSpec('/etc/x')),
    };
    expect(findingsOf(renderTexts(files)).map((line) => line.split(' ')[0])).toEqual([
      'error',
      'warning',
    ]);
    expect(part(files)).toEqual([]);
    expect(renderTexts({ ...POOL, 'a.yaml': GOOD }, undefined, 'elsewhere').pools).toEqual([]);
  });

  it('is refused for what does not go together', () => {
    const above = configText('60-a', 'worker', fileSpec('/etc/foo'));
    const below = configText('61-b', 'worker', fileSpec('/etc/foo/bar'));
    expect(part({ ...POOL, 'a.yaml': above, 'b.yaml': below })).toEqual([
      expect.stringMatching(/^error b\.yaml:12 .*cannot be below \/etc\/foo/),
    ]);
  });

  it('is refused for what nothing elsewhere could fix', () => {
    const bad = configText('60-bad', 'worker', '  kernelType: fast\n');
    const open = configText('61-open', 'worker', `  kernelArguments: ['a="b', c]\n`);
    const large = (name: string): string =>
      configText(
        name,
        'worker',
        fileSpec(`/etc/${name}`, `contents: {source: "data:,${'x'.repeat(900_000)}"}`),
      );
    expect(part({ ...POOL, 'a.yaml': bad, 'b.yaml': open, 'c.yaml': lacking })).toEqual([
      'error a.yaml:8 spec.kernelType "fast" is no kernel type',
      'error b.yaml:8 spec.kernelArguments[0] a double quote is left open, and the kernel takes the next entry for a part of it',
    ]);
    expect(part({ ...POOL, 'a.yaml': large('70-a'), 'b.yaml': large('71-b') })).toEqual([
      expect.stringMatching(/^error [ab]\.yaml:1 the rendered config of pool worker has 18/),
    ]);
  });
});

describe('a MachineConfig without labels that a pool selects', () => {
  const bare = (labels: string): string =>
    `${MCO}\nkind: MachineConfig\nmetadata:\n  name: 50-bare\n${labels}spec: {}\n`;
  const all = poolText('worker').replace(
    `matchLabels: {${ROLE}: worker}`,
    'matchExpressions: [{key: a, operator: DoesNotExist}]',
  );

  it.each([
    ['none', '', 3],
    ['no entry', '  labels: {}\n', 5],
    ['null', '  labels: null\n', 5],
  ])("is refused with MCO's words, its place and the fix: %s", (_what, labels, line) => {
    const bad = configText('60-bad', 'worker', '  kernelType: fast\n');
    const found = `error a.yaml:${line} metadata.labels Cannot find label in MachineConfig 50-bare`;
    const render = renderTexts({ 'a.yaml': bare(labels), 'p.yaml': all });

    expect(findingsOf(render)).toEqual([found]);
    expect(render.findings[0]?.fix).toBe(`add the label ${ROLE} with the name of its pool`);
    expect(
      findingsOf(renderTexts({ 'a.yaml': bare(labels), 'b.yaml': bad, 'p.yaml': all })),
    ).toContain(found);
  });

  it('is named, and so is every other one', () => {
    const second = bare('').replace('50-bare', '51-bare');
    expect(
      findingsOf(renderTexts({ 'a.yaml': bare(''), 'b.yaml': second, 'p.yaml': all })),
    ).toEqual([
      'error a.yaml:3 metadata.labels Cannot find label in MachineConfig 50-bare',
      'error b.yaml:3 metadata.labels Cannot find label in MachineConfig 51-bare',
    ]);
  });
});
