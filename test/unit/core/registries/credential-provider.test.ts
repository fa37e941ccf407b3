import { updateCredentialProviders } from '../../../../core/registries';
import { patternCovers } from '../../../../core/registries/credential-provider';

const base = {
  kind: 'CredentialProviderConfig',
  providers: [
    {
      name: 'cloud',
      matchImages: ['*.cloud.test'],
      defaultCacheDuration: '90s',
      apiVersion: 'v1',
      args: ['get'],
      env: [{ name: 'A', value: 'b' }],
      unknown: 1,
    },
  ],
};

describe('credential providers', () => {
  it('are the base’s and CRI-O’s, whose patterns are sorted', () => {
    const { contents, conflicts } = updateCredentialProviders(base, [
      'b.test',
      'x.cloud.test',
      'a.test',
    ]);
    expect(conflicts).toEqual(['x.cloud.test']);
    expect(contents).toBe(`apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- apiVersion: v1
  args:
  - get
  defaultCacheDuration: 1m30s
  env:
  - name: A
    value: b
  matchImages:
  - '*.cloud.test'
  name: cloud
- apiVersion: credentialprovider.kubelet.k8s.io/v1
  defaultCacheDuration: 1s
  matchImages:
  - a.test
  - b.test
  name: crio-credential-provider
  tokenAttributes:
    cacheType: Token
    requireServiceAccount: false
    serviceAccountTokenAudience: https://kubernetes.default.svc
`);
  });

  it('of CRI-O are replaced', () => {
    const first = updateCredentialProviders(undefined, ['a.test']).contents ?? '';
    const crio = { name: 'crio-credential-provider', matchImages: ['b.test'] };
    const again = { kind: 'CredentialProviderConfig', providers: [crio] };
    expect(updateCredentialProviders(again, ['a.test']).contents).toBe(first);
  });

  it('need no change without patterns', () => {
    expect(updateCredentialProviders(base, [])).toEqual({ conflicts: [] });
    expect(updateCredentialProviders(base, ['*.*.test'])).toEqual({ conflicts: ['*.*.test'] });
    expect(updateCredentialProviders(base, ['*.cloud.test'])).toEqual({
      conflicts: ['*.cloud.test'],
    });
  });

  it.each([
    ['text', 'kind is not CredentialProviderConfig'],
    [{ kind: 'CredentialProviderConfig', providers: {} }, 'providers is not a list'],
    [{ kind: 'CredentialProviderConfig', providers: [1] }, 'providers[0] is not an object'],
    [
      { kind: 'CredentialProviderConfig', providers: [{ defaultCacheDuration: '1d' }] },
      'providers[0].defaultCacheDuration is no duration such as 12h',
    ],
  ])('are refused of %j', (given, message) => {
    expect(() => updateCredentialProviders(given, ['a.test'])).toThrow(message);
  });
});

describe('a pattern covers another', () => {
  it.each([
    ['*.a.test', 'x.a.test', true],
    ['*.a.test', 'x.y.a.test', false],
    ['a.test', 'a.test/b', true],
    ['a.test/b', 'a.test', false],
    ['a.test:5000', 'a.test', false],
    ['a*.test', 'ab.test', true],
    ['a.test', 'axtest', false],
  ])('%s %s: %s', (outer, inner, expected) => {
    expect(patternCovers(outer, inner)).toBe(expected);
  });
});
