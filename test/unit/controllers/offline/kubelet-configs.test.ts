/** KubeletConfigs and the cluster's settings of kubelets, without a cluster. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeDataUrl } from '../../../../core/encoding';
import { kubeletRefusals } from '../../../../core/kubelet/admission';
import { configText, fileSpec, findingsOf, poolText, renderTexts, ROLE } from './manifests';
import type { OfflineRender } from '../../../../controllers/offline';

const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
const base = (role = 'worker'): string =>
  configText(
    `01-${role}-kubelet`,
    role,
    fileSpec(
      KUBELET_CONF,
      `contents: {source: "data:,${encodeURIComponent('kind: KubeletConfiguration\nmaxPods: 110\n')}"}`,
    ),
  );
const pool = (name = 'worker'): string =>
  poolText(name).replace('metadata:', 'metadata:\n  labels: {kubelets: custom}');

const kubelet = (name: string, spec: string): string =>
  `apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata:
  name: ${name}
spec:
  machineConfigPoolSelector:
    matchLabels: {kubelets: custom}
${spec}`;

const settings = (kind: string, spec: string): string =>
  `apiVersion: config.openshift.io/v1
kind: ${kind}
metadata:
  name: cluster
spec:
${spec}`;

const texts = (more: Readonly<Record<string, string>>) => ({
  'pool.yaml': pool(),
  'base.yaml': base(),
  ...more,
});

/** The text of kubelet.conf in the rendered config of the only pool. */
function rendered({ pools }: OfflineRender): string {
  const files = pools[0]?.rendered.spec.config.storage?.files ?? [];
  const file = files.find(({ path }) => path === KUBELET_CONF);
  const decoded = decodeDataUrl(file?.contents?.source ?? 'data:,');
  return decoded.error === undefined ? new TextDecoder().decode(decoded.bytes) : '';
}

test('a KubeletConfig is in the rendered config of its pool', () => {
  const render = renderTexts(texts({ 'k.yaml': kubelet('k', '  kubeletConfig: {maxPods: 37}\n') }));
  expect(findingsOf(render)).toEqual([]);
  expect(rendered(render)).toContain('maxPods: 37');
  expect(render.pools[0]?.sources.map(({ metadata }) => metadata.name)).toEqual([
    '01-worker-kubelet',
    '99-worker-generated-kubelet',
  ]);
});

test('so are the feature gates and the latency profile of the cluster', () => {
  const render = renderTexts(
    texts({
      'f.yaml': settings('FeatureGate', '  customNoUpgrade: {enabled: [NodeSwap]}\n'),
      'n.yaml': settings('Node', '  workerLatencyProfile: MediumUpdateAverageReaction\n'),
      'k.yaml': kubelet('k', '  kubeletConfig: {maxPods: 37}\n'),
    }),
  );
  expect(findingsOf(render)).toEqual([]);
  expect(rendered(render)).toContain('NodeSwap: true');
  expect(rendered(render)).toContain('nodeStatusUpdateFrequency: 20s');
  expect(render.pools[0]?.sources.map(({ metadata }) => metadata.name)).toEqual([
    '01-worker-kubelet',
    '97-worker-generated-kubelet',
    '98-worker-generated-kubelet',
    '99-worker-generated-kubelet',
  ]);
});

test.each([
  [
    'a value that the kubelet would refuse, at its line',
    '  kubeletConfig:\n    maxPods: 5\n    evictionHard:\n      memory.available: 110%\n',
    /^error k\.yaml:11 spec\.kubeletConfig\.evictionHard\["memory\.available"\]/,
  ],
  [
    'CPUs that nobody reserved',
    '  kubeletConfig: {cpuManagerPolicy: static, cpuManagerReconcilePeriod: 10s}\n',
    /^error k\.yaml:8 spec\.kubeletConfig/,
  ],
  [
    'a value of a wrong type',
    '  kubeletConfig:\n    maxPods: "5"\n',
    /^error k\.yaml:9 spec\.kubeletConfig\.maxPods is a text/,
  ],
  [
    'a field that is not for users',
    '  kubeletConfig:\n    clusterDomain: x\n',
    /^error k\.yaml:9 spec\.kubeletConfig\.clusterDomain/,
  ],
  [
    'static pods',
    '  kubeletConfig:\n    staticPodPath: /x\n',
    /staticPodPath must be empty for pool "worker"/,
  ],
  ['a log level that does not exist', '  logLevel: 11\n', /^error k\.yaml:8 spec\.logLevel/],
  [
    'reservations beside those that a machine computes',
    '  autoSizingReserved: true\n  kubeletConfig: {systemReserved: {pid: "5"}}\n',
    /^error k\.yaml:\d+ spec autoSizingReserved/,
  ],
])('refuses %s', (_, spec, finding) => {
  const render = renderTexts(texts({ 'k.yaml': kubelet('k', spec) }), new Map(), 'none');
  expect(findingsOf(render)[0]).toMatch(finding);
  expect(render.pools.every(({ sources }) => sources.length === 1)).toBe(true);
});

test('warns of a field that no kubelet knows', () => {
  const text = kubelet('k', '  kubeletConfig:\n    maxPod: 5\n');
  expect(findingsOf(renderTexts(texts({ 'k.yaml': text })))).toEqual([
    'warning k.yaml:9 spec.kubeletConfig.maxPod no kubelet knows this field; it has no effect',
  ]);
});

test('refuses two for one pool: their order is not in the manifests', () => {
  const render = renderTexts(
    texts({
      'a.yaml': kubelet('a', '  kubeletConfig: {maxPods: 1}\n'),
      'b.yaml': kubelet('b', '  kubeletConfig: {maxPods: 2}\n'),
    }),
  );
  expect(findingsOf(render)).toEqual([
    expect.stringContaining('error b.yaml:6 spec.machineConfigPoolSelector pool worker has'),
  ]);
});

test('misses the file of the machines where nothing is elsewhere', () => {
  const files = { 'pool.yaml': pool(), 'k.yaml': kubelet('k', '  logLevel: 3\n') };
  const all = (rest: 'none' | 'unknown' | 'elsewhere') =>
    findingsOf(renderTexts(files, new Map(), rest)).filter((text) => text.includes('k.yaml'));
  expect(all('none')).toEqual([expect.stringMatching(/^error .*01-worker-kubelet is missing/)]);
  expect(all('unknown')).toEqual([expect.stringMatching(/^warning .*01-worker-kubelet/)]);
  expect(all('elsewhere')).toEqual([]);
});

test('refuses a feature gate that no kubelet knows', () => {
  const gates = settings('FeatureGate', '  customNoUpgrade: {enabled: [NoSuchGate]}\n');
  const render = renderTexts(texts({ 'f.yaml': gates }));
  expect(findingsOf(render)).toEqual([
    expect.stringMatching(/^error f\.yaml:\d+ spec .*NoSuchGate/),
  ]);
  expect(render.pools[0]?.sources).toHaveLength(1);
});

test('the refusals have the words of the CRD', () => {
  const crd = readFileSync(join(__dirname, '../../../../deploy/crds/kubeletconfigs.yaml'), 'utf8');
  const problems = kubeletRefusals({
    autoSizingReserved: true,
    kubeletConfig: {
      ...{ cgroupDriver: 'x', clusterDNS: ['x'], clusterDomain: 'x', failSwapOn: true },
      ...{ featureGates: { x: true }, memorySwap: { swapBehavior: 'x' } },
      systemReserved: { pid: '5' },
    },
    tlsSecurityProfile: { type: 'Custom' },
  });
  expect(problems).toHaveLength(8);
  for (const { problem, fix } of problems) expect(crd).toContain(`${problem}; ${fix}`);
});

describe('a custom pool', () => {
  const selecting = (...roles: readonly string[]): string =>
    pool('infra').replace(
      /matchLabels: \{machineconfig.*/,
      `matchExpressions: [{key: ${ROLE}, operator: In, values: [${roles.join(', ')}]}]`,
    );
  const gates = settings('FeatureGate', '  customNoUpgrade: {enabled: [NodeSwap]}\n');
  const own = base('infra').replace('110', '120');
  const given = (...roles: readonly string[]) => ({
    'infra.yaml': selecting(...roles),
    'worker.yaml': base(),
    'gates.yaml': gates,
  });

  test('has what is set for all from worker', () => {
    const render = renderTexts(given('worker', 'infra'));
    expect(sourcesOf(render)).toEqual(['01-worker-kubelet']);
  });

  test('has its own where a file of its own would win, made of that file', () => {
    const more = { 'own.yaml': own, 'k.yaml': kubelet('k', '  kubeletConfig: {podsPerCore: 5}\n') };
    const render = renderTexts({ ...given('worker', 'infra'), ...more });
    expect(findingsOf(render)).toEqual([]);
    expect(sourcesOf(render)).toEqual([
      ...['01-infra-kubelet', '01-worker-kubelet'],
      ...['98-infra-generated-kubelet', '99-infra-generated-kubelet'],
    ]);
    expect(rendered(render)).toMatch(/NodeSwap: true[^]*maxPods: 120[^]*podsPerCore: 5/);
  });

  test('has its own when it does not select those of worker, as workers do', () => {
    const node = settings('Node', '  workerLatencyProfile: MediumUpdateAverageReaction\n');
    const render = renderTexts({ ...given('infra'), 'own.yaml': own, 'node.yaml': node });
    expect(sourcesOf(render)).toEqual([
      ...['01-infra-kubelet', '97-infra-generated-kubelet', '98-infra-generated-kubelet'],
    ]);
    expect(rendered(render)).toMatch(/NodeSwap: true[^]*maxPods: 120[^]*Frequency: 20s/);
  });

  test('that would not select its MachineConfig gets none, and the object says so', () => {
    const more = { 'k.yaml': kubelet('k', '  kubeletConfig: {podsPerCore: 5}\n') };
    const render = renderTexts({ ...given('worker'), ...more }, new Map(), 'none');
    expect(findingsOf(render)).toEqual([
      expect.stringMatching(/^error k\.yaml:\d+ spec pool infra does not select MachineConfigs/),
    ]);
    expect(sourcesOf(render)).toEqual(['01-worker-kubelet']);
  });

  test('keeps one that MCO left, which follows the cluster', () => {
    const left = configText('98-infra-generated-kubelet', 'infra', fileSpec(KUBELET_CONF)).replace(
      '  labels:',
      '  annotations: {machineconfiguration.openshift.io/generated-by-controller-version: abc}\n  labels:',
    );
    const render = renderTexts({ ...given('worker', 'infra'), 'left.yaml': left });
    expect(sourcesOf(render)).toEqual(['01-worker-kubelet', '98-infra-generated-kubelet']);
    expect(rendered(render)).toContain('NodeSwap: true');
  });
});

function sourcesOf({ pools }: OfflineRender): readonly string[] {
  return pools.flatMap(({ sources }) => sources.map(({ metadata }) => metadata.name));
}
