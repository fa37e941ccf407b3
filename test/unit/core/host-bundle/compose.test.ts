import {
  ALL_REGISTRIES,
  bundleOfPool,
  bundleProblemText,
  composeBundle,
  type FoundSecret,
  registryPath,
} from '../../../../core/host-bundle';
import { newAuthority } from '../../../../tools/cluster/certificates';

const ABSENT: FoundSecret = { state: 'absent' };
const DOCKER = JSON.stringify({ auths: { 'registry.example.com': { auth: 'c2VjcmV0' } } });
const TYPE = 'kubernetes.io/dockerconfigjson';
const SECRET: FoundSecret = {
  state: 'found',
  type: TYPE,
  data: { '.dockerconfigjson': base64(DOCKER) },
};
const REFERENCE = { namespace: 'openshift-config', name: 'pull-secret' };

let one: string;
let other: string;

beforeAll(async () => {
  [one, other] = [
    (await newAuthority('one')).certificate,
    (await newAuthority('other')).certificate,
  ];
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

const compose = (spec: object, secret: FoundSecret = ABSENT) => composeBundle({ spec }, secret);
const filesOf = ({ files }: ReturnType<typeof composeBundle>) =>
  files.map(({ path, mode, content }) => [
    path,
    mode.toString(8),
    Buffer.from(content, 'base64').toString(),
  ]);

describe('the bundle of a ControllerConfig', () => {
  it('has each authority at its place, and secrets for root alone', () => {
    const found = compose(
      {
        kubeAPIServerServingCAData: base64(one.trimEnd()),
        cloudProviderCAData: base64(other),
        imageRegistryBundleData: [{ file: 'registry.example.com..5000', data: base64(one) }],
        imageRegistryBundleUserData: [{ file: 'quay.example.com', data: base64(other) }],
        internalRegistryPullSecret: base64('{"auths":{}}'),
        pullSecret: REFERENCE,
        rootCAData: base64(other),
      },
      SECRET,
    );

    expect(found.problems).toEqual([]);
    expect(filesOf(found)).toEqual([
      ['/etc/docker/certs.d/quay.example.com/ca.crt', '644', other],
      ['/etc/docker/certs.d/registry.example.com:5000/ca.crt', '644', one],
      ['/etc/kubernetes/kubelet-ca.crt', '644', one],
      ['/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem', '644', other],
      ['/etc/mco/internal-registry-pull-secret.json', '600', '{"auths":{}}'],
      ['/var/lib/kubelet/config.json', '600', DOCKER],
    ]);
    expect(found.apiServerAuthority).toBe(other);
  });

  it('is empty for a ControllerConfig that says nothing', () => {
    const nothing = { files: [], keeps: [], keepsRegistries: false, problems: [] };

    expect(compose({})).toEqual(nothing);
    expect(composeBundle({ spec: 'odd' }, ABSENT)).toEqual(nothing);
    expect(compose({ kubeAPIServerServingCAData: '', rootCAData: null })).toEqual(nothing);
  });

  it('takes the entry of a person where two name one registry', () => {
    const found = compose({
      imageRegistryBundleData: [{ file: 'a..1', data: base64(one) }],
      imageRegistryBundleUserData: [{ file: 'a:1', data: base64(other) }],
    });

    expect(filesOf(found)).toEqual([['/etc/docker/certs.d/a:1/ca.crt', '644', other]]);
  });

  it.each<[string, object, FoundSecret, RegExp]>([
    [
      'no base 64',
      { kubeAPIServerServingCAData: 'ä' },
      ABSENT,
      /^controllerconfig machine-config-controller: spec\.kubeAPIServerServingCAData is not base 64; write/,
    ],
    ['no text', { cloudProviderCAData: 7 }, ABSENT, /spec\.cloudProviderCAData is not text/],
    [
      'no PEM',
      { rootCAData: base64('hello') },
      ABSENT,
      /spec\.rootCAData holds no certificate in PEM/,
    ],
    [
      'a broken certificate',
      {
        kubeAPIServerServingCAData: base64(
          '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
        ),
      },
      ABSENT,
      /holds a certificate that cannot be read/,
    ],
    [
      'registries that are no list',
      { imageRegistryBundleData: {} },
      ABSENT,
      /spec\.imageRegistryBundleData is not a list/,
    ],
    [
      'a registry out of its directory',
      { imageRegistryBundleUserData: [{ file: '../../etc', data: '' }] },
      ABSENT,
      /spec\.imageRegistryBundleUserData\[0\]\.file names no registry/,
    ],
    [
      'a registry without data',
      { imageRegistryBundleData: [{ file: 'a' }] },
      ABSENT,
      /spec\.imageRegistryBundleData\[0\]\.data is not text/,
    ],
    [
      'a reference without a namespace',
      { pullSecret: { name: 'a' } },
      ABSENT,
      /spec\.pullSecret\.namespace names no Secret/,
    ],
    [
      'no Secret',
      { pullSecret: REFERENCE },
      ABSENT,
      /spec\.pullSecret names secret openshift-config\/pull-secret, which does not exist; create/,
    ],
    [
      'an unreadable Secret',
      { pullSecret: REFERENCE },
      { state: 'unread', because: 'no right' },
      /spec\.pullSecret names a Secret that the server has not read: no right; let the server/,
    ],
    [
      'a Secret of another type',
      { pullSecret: REFERENCE },
      { ...SECRET, type: 'Opaque' },
      /^secret openshift-config\/pull-secret: type is not kubernetes\.io\/dockerconfigjson/,
    ],
    [
      'a Secret without its key',
      { pullSecret: REFERENCE },
      { state: 'found', type: TYPE, data: {} },
      /data\[\.dockerconfigjson\] is missing/,
    ],
    [
      'a Docker config that is a list',
      { internalRegistryPullSecret: base64('[]') },
      ABSENT,
      /spec\.internalRegistryPullSecret is not a Docker config/,
    ],
  ])('leaves out what is wrong and says where: %s', (_what, spec, secret, says) => {
    const found = compose(spec, secret);

    expect(found.files).toEqual([]);
    expect(found.apiServerAuthority).toBeUndefined();
    expect(found.problems.map(bundleProblemText)).toEqual([expect.stringMatching(says)]);
  });

  it('never quotes a secret that it cannot read', () => {
    const data = { '.dockerconfigjson': base64('{"auths": TOPSECRET') };
    const found = compose({ pullSecret: REFERENCE }, { state: 'found', type: TYPE, data });

    expect(JSON.stringify(found)).not.toMatch(/TOPSECRET|VE9QU0VDUkVU/);
    expect(found.problems.map(({ problem }) => problem)).toEqual(['is not JSON']);
  });

  it('lets hosts keep what they have where a source is wrong', () => {
    const found = compose({
      kubeAPIServerServingCAData: base64(one),
      cloudProviderCAData: 'ä',
      imageRegistryBundleData: [{ file: 'a', data: 'ä' }],
    });

    expect(filesOf(found)).toHaveLength(1);
    expect(found.keeps).toEqual([
      '/etc/docker/certs.d/a/ca.crt',
      '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
    ]);
    const unnamed = compose({ imageRegistryBundleData: [{ file: '', data: base64(one) }] });
    expect(bundleOfPool('worker', unnamed).keeps).toEqual([ALL_REGISTRIES]);
  });

  it('has a digest that covers each byte, and is the same in all pools', () => {
    const [a, b] = [one, other].map((pem) => compose({ kubeAPIServerServingCAData: base64(pem) }));
    if (a === undefined || b === undefined) throw new Error('both were composed');
    const digests = [
      bundleOfPool('worker', a),
      bundleOfPool('worker', b),
      bundleOfPool('worker', { ...a, keeps: ['/etc/docker/certs.d/a/ca.crt'] }),
      bundleOfPool('worker', { ...a, apiServerAuthority: one }),
    ].map(({ digest }) => digest);

    expect(new Set(digests).size).toBe(4);
    expect(bundleOfPool('worker', a)).toEqual(bundleOfPool('worker', a));
    expect(bundleOfPool('master', a)).toEqual({ ...bundleOfPool('worker', a), pool: 'master' });
  });
});

it.each([
  ['a', '/etc/docker/certs.d/a/ca.crt'],
  ['a..443', '/etc/docker/certs.d/a:443/ca.crt'],
  ['..', undefined],
  ['a/b', undefined],
  ['', undefined],
  ['a..b', undefined],
  ['-', undefined],
])('the path of registry %s', (file, path) => {
  expect(registryPath(file)).toBe(path);
});
