/** ContainerRuntimeConfigs and registries, without a cluster. */

import { decodeDataUrl } from '../../../../core/encoding';
import { configText, fileSpec, findingsOf, poolText, renderTexts } from './manifests';
import type { OfflineRender } from '../../../../controllers/offline';

const CONF = '/etc/containers/registries.conf';
const base = configText(
  '01-worker-container-runtime',
  'worker',
  fileSpec(CONF, 'contents: {source: "data:,"}'),
);
const pool = poolText('worker').replace('metadata:', 'metadata:\n  labels: {runtimes: custom}');

const object = (
  kind: string,
  name: string,
  spec: string,
  group = 'config.openshift.io/v1',
): string => `apiVersion: ${group}\nkind: ${kind}\nmetadata:\n  name: ${name}\nspec:\n${spec}`;

const runtime = (name: string, spec: string): string =>
  object(
    'ContainerRuntimeConfig',
    name,
    `  machineConfigPoolSelector: {matchLabels: {runtimes: custom}}\n  containerRuntimeConfig:\n${spec}`,
    'machineconfiguration.openshift.io/v1',
  );

const texts = (more: Readonly<Record<string, string>>) => ({
  'pool.yaml': pool,
  'base.yaml': base,
  ...more,
});

function textOf({ pools }: OfflineRender, path: string): string {
  const files = pools[0]?.rendered.spec.config.storage?.files ?? [];
  const decoded = decodeDataUrl(
    files.find((file) => file.path === path)?.contents?.source ?? 'data:,',
  );
  return decoded.error === undefined ? new TextDecoder().decode(decoded.bytes) : '';
}

test('a ContainerRuntimeConfig and a mirror set are in the rendered config of the pool', () => {
  const render = renderTexts(
    texts({
      'r.yaml': runtime('r', '    pidsLimit: 4096\n'),
      'm.yaml': object(
        'ImageDigestMirrorSet',
        'm',
        '  imageDigestMirrors: [{source: quay.io, mirrors: [mirror.example.com]}]\n',
      ),
    }),
  );
  expect(findingsOf(render)).toEqual([]);
  expect(textOf(render, '/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit')).toContain('4096');
  expect(textOf(render, CONF)).toContain('mirror.example.com');
});

test.each([
  ['r.yaml', runtime('r', '    logSizeMax: 4Ki\n'), /^error r\.yaml:\d+ spec invalid LogSizeMax/],
  [
    'r.yaml',
    runtime('r', '    logLevel: loud\n'),
    /^error r\.yaml:8 spec\.containerRuntimeConfig\.logLevel/,
  ],
  [
    'i.yaml',
    object('Image', 'cluster', '  registrySources: {blockedRegistries: ["*bad"]}\n'),
    /^error i\.yaml:\d+ spec .*\*bad/,
  ],
])('refuses what the controllers refuse: %s %#', (name, text, finding) => {
  const render = renderTexts(texts({ [name]: text }), new Map(), 'none');
  expect(findingsOf(render)[0]).toMatch(finding);
  expect(render.pools.every(({ sources }) => sources.length === 1)).toBe(true);
});

test.each([
  [
    'a mirror that is its source',
    object(
      'ImageTagMirrorSet',
      'm',
      '  imageTagMirrors: [{source: quay.io, mirrors: [quay.io]}]\n',
    ),
    /^warning x\.yaml:\d+ spec\.imageTagMirrors\[0\]/,
  ],
  [
    'a size that is ignored',
    runtime('r', '    overlaySize: 0\n'),
    /^warning x\.yaml:8 spec\.containerRuntimeConfig\.overlaySize/,
  ],
])('warns of %s', (_, text, finding) => {
  expect(findingsOf(renderTexts(texts({ 'x.yaml': text })))).toEqual([
    expect.stringMatching(finding),
  ]);
});

test('image policies of two namespaces may have one name', () => {
  const policy = (namespace: string): string =>
    object(
      'ImagePolicy',
      `own\n  namespace: ${namespace}`,
      `  scopes: [quay.io/${namespace}]\n  policy: {rootOfTrust: {policyType: PublicKey, publicKey: {keyData: eA==}}}\n`,
    );
  const render = renderTexts(texts({ 'a.yaml': policy('a'), 'b.yaml': policy('b') }));
  expect(findingsOf(render).filter((text) => text.startsWith('error'))).toEqual([]);
  expect(textOf(render, '/etc/crio/policies/b.json')).toContain('quay.io/b');
});
