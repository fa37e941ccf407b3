/** MachineConfigs from templates, without a cluster. */

import { configText, findingsOf, poolText, renderTexts } from './manifests';
import type { OfflineRender } from '../../../../controllers/offline';

const controllerConfig = (spec: string, annotations = 'slipway.dev/templates: kubeadm'): string =>
  `apiVersion: machineconfiguration.openshift.io/v1
kind: ControllerConfig
metadata:
  name: machine-config-controller
  annotations:
    ${annotations}
spec:
${spec}`;

const FACTS = `  clusterDNSIP: 10.96.0.10
  infra: {status: {platformStatus: {type: None}}}
`;

const texts = (cc: string, more: Readonly<Record<string, string>> = {}) => ({
  'cc.yaml': cc,
  'worker.yaml': poolText('worker'),
  ...more,
});

const sourcesOf = ({ pools }: OfflineRender): readonly string[] =>
  pools.flatMap(({ sources }) => sources.map(({ metadata }) => metadata.name));

const KUBELET_CONFIG = `apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata:
  name: more
spec:
  machineConfigPoolSelector: {matchExpressions: [{key: none, operator: DoesNotExist}]}
  kubeletConfig: {maxPods: 37}
`;

test('are in the rendered config of their pool, and what is merged into them', () => {
  const render = renderTexts(texts(controllerConfig(FACTS), { 'k.yaml': KUBELET_CONFIG }));
  expect(findingsOf(render)).toEqual([]);
  expect(sourcesOf(render)).toEqual([
    '00-worker',
    '01-worker-container-runtime',
    '01-worker-kubelet',
    '99-worker-generated-kubelet',
  ]);
  const paths = render.pools[0]?.rendered.spec.config.storage?.files?.map(({ path }) => path);
  expect(paths).toContain('/etc/kubernetes/kubelet.conf');
});

test('are none without the annotation', () => {
  const render = renderTexts(
    texts(controllerConfig(FACTS, 'a: b'), {
      'c.yaml': configText('50-a', 'worker', '  fips: false\n'),
    }),
  );
  expect(sourcesOf(render)).toEqual(['50-a']);
});

test('a custom pool without a pool of workers: nothing is said about the file of workers', () => {
  const manifests = { 'cc.yaml': controllerConfig(FACTS), 'infra.yaml': poolText('infra') };
  const render = renderTexts(manifests);
  expect(findingsOf(render)).toEqual([]);
  expect(sourcesOf(render)).toContain('01-infra-kubelet');
});

test.each([
  [
    'a flavour that is none',
    controllerConfig(FACTS, 'slipway.dev/templates: kubedm'),
    'error cc.yaml:6 metadata.annotations["slipway.dev/templates"] "kubedm" is no flavour of the templates',
  ],
  [
    'a missing address',
    controllerConfig('  infra: {status: {platformStatus: {type: None}}}\n'),
    'error cc.yaml:7 spec.clusterDNSIP is missing, and the template kubeadm/common/kubelet/files/kubelet.conf.yaml:19 inserts it',
  ],
  [
    'no platform',
    controllerConfig('  clusterDNSIP: 10.96.0.10\n'),
    'error cc.yaml:7 spec.infra.status.platformStatus.type cannot generate MachineConfigs when no platformStatus.type is set',
  ],
  [
    'a wrong address, which the API server refuses',
    controllerConfig(`${FACTS}`.replace('10.96.0.10', '10.96.0.10.1')),
    'error cc.yaml:8 spec.clusterDNSIP "10.96.0.10.1" is no IP address',
  ],
  [
    'a proxy that is no URL, also without templates',
    controllerConfig(`${FACTS}  proxy: {httpsProxy: proxy}\n`, 'a: b'),
    'error cc.yaml:10 spec.proxy.httpsProxy is no URL',
  ],
  [
    'an unknown platform',
    controllerConfig(FACTS.replace('None', 'Mars')),
    'warning cc.yaml:9 spec.infra.status.platformStatus.type "Mars" is no platform that the templates know, and counts as None',
  ],
])('%s is found at its field', (_, cc, expected) => {
  expect(findingsOf(renderTexts(texts(cc)))).toContain(expected);
});

test('a MachineConfig of somebody under one of the names is not replaced without the flag', () => {
  const mine = { 'mine.yaml': configText('00-worker', 'worker', '  fips: false\n') };
  const refused = renderTexts(texts(controllerConfig(FACTS), mine));
  expect(findingsOf(refused)).toEqual([
    'error cc.yaml:6 metadata.annotations["slipway.dev/templates"] machineconfig 00-worker exists, and these templates did not generate it',
  ]);
  const flag = 'slipway.dev/templates: kubeadm\n    slipway.dev/templates-take-over: "true"';
  const taken = renderTexts(texts(controllerConfig(FACTS, flag), mine));
  expect(findingsOf(taken)).toEqual([]);
});
