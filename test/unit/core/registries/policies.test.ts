import type { Policy } from '../../../../core/registries';
import { scopedPolicies } from '../../../../core/registries/image-policies';
import { parsePolicyFile, policyFileText } from '../../../../core/registries/policy-file';
import { namespacePolicyJsons, updatePolicyJson } from '../../../../core/registries/policy-json';
import { requirementOf } from '../../../../core/registries/policy-requirement';
import { parseRegistriesConf } from '../../../../core/registries/registries-conf';
import { sigstoreRegistries } from '../../../../core/registries/sigstore-registries';
import { parse as parseToml } from 'smol-toml';
import { imagePolicy, KEY_POLICY } from './builders';

const SCOPES = scopedPolicies([imagePolicy('c', ['a.test', 'a.test/b'])], []).cluster;
const RELEASE = `r.test/ocp/release@sha256:${'0'.repeat(64)}`;
const BASE = '{"default":[{"type":"insecureAcceptAnything"}]}';
const cluster = { releaseImage: RELEASE, cluster: SCOPES };

describe('the requirement of a policy', () => {
  const withRoot = (rootOfTrust: Policy['rootOfTrust']) => () => requirementOf({ rootOfTrust });
  const withIdentity = (signedIdentity: Policy['signedIdentity']) => () =>
    requirementOf({ ...KEY_POLICY, signedIdentity: signedIdentity ?? {} });
  const fulcio = { fulcioCAData: 'Y2E=', rekorKeyData: 'cms=' };

  it.each<[string, () => unknown]>([
    [
      'exactly one of keyPath, keyPaths, keyData, keyDatas, fulcio, and pki must be specified',
      withRoot({ policyType: 'PublicKey', publicKey: {} }),
    ],
    ['exactly one of keyPath', withRoot({ policyType: 'Other' })],
    [
      'publicKey is missing, although the type of the policy needs it',
      withRoot({ policyType: 'PublicKey' }),
    ],
    [
      'At least one of caPath and caData must be specified',
      withRoot({ policyType: 'FulcioCAWithRekor', fulcioCAWithRekor: {} }),
    ],
    [
      'oidcIssuer not specified',
      withRoot({ policyType: 'FulcioCAWithRekor', fulcioCAWithRekor: fulcio }),
    ],
    [
      'subjectEmail not specified',
      withRoot({
        policyType: 'FulcioCAWithRekor',
        fulcioCAWithRekor: { ...fulcio, fulcioSubject: { oidcIssuer: 'i' } },
      }),
    ],
    [
      'rekorPublicKeyDatas must be specified if fulcio is used',
      withRoot({
        policyType: 'FulcioCAWithRekor',
        fulcioCAWithRekor: {
          fulcioCAData: 'Y2E=',
          fulcioSubject: { oidcIssuer: 'i', signedEmail: 'e' },
        },
      }),
    ],
    [
      'At least one of subjectEmail, subjectHostname must be specified',
      withRoot({ policyType: 'PKI', pki: { caRootsData: 'Y2E=' } }),
    ],
    [
      'error getting signedIdentity for RemapIdentity: prefix "a.test/" is not valid',
      withIdentity({
        matchPolicy: 'RemapIdentity',
        remapIdentity: { prefix: 'a.test/', signedPrefix: 'b.test' },
      }),
    ],
    [
      'error getting signedIdentity for ExactRepository: Invalid format of dockerRepository "a.test/B": invalid reference format: repository name must be lowercase',
      withIdentity({ matchPolicy: 'ExactRepository', exactRepository: { repository: 'a.test/B' } }),
    ],
    ['unknown signedIdentity match policy: Nope', withIdentity({ matchPolicy: 'Nope' })],
  ])('is refused: %s', (message, make) => {
    expect(make).toThrow(message);
  });
});

describe('scopes of both kinds of policies', () => {
  it('are added up, those of a namespace only outside of the cluster’s', () => {
    const {
      cluster: own,
      namespaces,
      conflicts,
    } = scopedPolicies(
      [imagePolicy('a', ['a.test']), imagePolicy('b', ['a.test'])],
      [imagePolicy('p', ['a.test/x', 'b.test', 'a.test'], 'ns')],
    );
    expect(own.get('a.test')).toHaveLength(2);
    expect([...(namespaces.get('ns')?.keys() ?? [])]).toEqual(['b.test']);
    expect(conflicts).toEqual([
      {
        namespace: 'ns',
        name: 'p',
        reason: 'ConflictScopes',
        message:
          'has conflicting scope(s) ["a.test/x" "a.test"] that equal to or nest inside existing clusterimagepolicy, only policy from clusterimagepolicy scope(s) will be applied',
      },
    ]);
  });
});

describe('policy.json', () => {
  it('keeps what the base says elsewhere, in the order of containers/image', () => {
    const base =
      '{"transports":{"oci":{"":[{"keyPath":"/<k>","type":"sigstoreSigned"}]},"docker":{"x":[{"type":"reject"}]}},"default":[{"type":"reject"}]}';
    expect(JSON.parse(policyFileText(parsePolicyFile(base)))).toEqual({
      default: [{ type: 'reject' }],
      transports: {
        docker: { x: [{ type: 'reject' }] },
        oci: {
          '': [
            {
              type: 'sigstoreSigned',
              keyPath: '/<k>',
              signedIdentity: { type: 'matchRepoDigestOrExact' },
            },
          ],
        },
      },
    });
    expect(policyFileText(parsePolicyFile(base))).toContain('/\\u003ck\\u003e');
  });

  it.each([
    ['{', 'unexpected EOF'],
    ['{"default": [', 'unexpected EOF'],
    [' \n', 'EOF'],
    ['{}', 'Default policy is missing'],
    ['{"default":[]}', 'List of verification policy requirements must not be empty'],
    ['{"default":[{"type":"x"}]}', 'Unknown policy requirement type "x"'],
    ['{"more":1}', 'Unknown key "more"'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parsePolicyFile(text)).toThrow(`error decoding policy json: ${message}`);
  });

  it('is the base itself without lists and policies', () => {
    expect(updatePolicyJson('no JSON', {}, { ...cluster, cluster: new Map() })).toBe('no JSON');
  });

  it.each([
    [{ allowed: ['x.test'] }, 'clusterimagePolicy configured for the scope a.test is not nested'],
    [{ policyBlocked: ['a.test/b'] }, 'for the scope a.test/b is nested inside blockedRegistries'],
    [{ allowed: ['a.test', '*'] }, 'invalid entry for allowed registries "*"'],
    [
      { allowed: ['a.test'], policyBlocked: ['x.test'] },
      'only one of AllowedRegistries or Blocked',
    ],
  ])('is refused for %j', (lists, message) => {
    expect(() => updatePolicyJson(BASE, lists, cluster)).toThrow(message);
  });

  it('may block others while the release alone is allowed', () => {
    const lists = { allowed: ['r.test/ocp/release'], policyBlocked: ['x.test'] };
    const text = updatePolicyJson(BASE, lists, { ...cluster, cluster: new Map() });
    expect(text).toContain('"x.test": [\n        {\n          "type": "reject"');
  });

  it('of a namespace is the cluster’s with its own scopes', () => {
    const namespaces = scopedPolicies(
      [],
      [imagePolicy('p', ['b.test/1/2/3'], 'ns2'), imagePolicy('p', ['b.test'], 'ns1')],
    ).namespaces;
    const texts = namespacePolicyJsons(BASE, {}, namespaces);
    expect(texts.map(([namespace]) => namespace)).toEqual(['ns1', 'ns2']);
    const { transports } = JSON.parse(texts[1]?.[1] ?? '') as { transports: object };
    expect(transports).toEqual({ atomic: {}, docker: { 'b.test/1/2/3': [expect.anything()] } });
    expect(() => namespacePolicyJsons(BASE, { policyBlocked: ['b.test'] }, namespaces)).toThrow(
      'imagePolicy configured for the scope b.test is nested inside blockedRegistries',
    );
  });
});

describe('attachments of signatures', () => {
  const placesOf = (scopes: readonly string[], text: string) => {
    const yaml = sigstoreRegistries(scopes, parseRegistriesConf(text, { parseToml })) ?? '';
    return [...yaml.matchAll(/^ {2}(\S.*):$/gm)].map(([, place]) => place);
  };
  const registry = (source: string, ...mirrors: string[]): string =>
    [
      '[[registry]]',
      source.startsWith('*') ? `prefix = "${source}"` : `location = "${source}"`,
      ...mirrors.map((mirror) => `[[registry.mirror]]\nlocation = "${mirror}"`),
      '',
    ].join('\n');

  it.each([
    [
      'the mirror of a scope’s registry',
      ['a.test/x'],
      registry('a.test', 'm.test/y'),
      'm.test/y/x',
    ],
    [
      'mirrors inside of a scope',
      ['a.test'],
      registry('a.test/x', 'm.test/y'),
      'a.test/x m.test/y',
    ],
    ['a mirrored wildcard', ['*.test'], registry('*.test', 'm.org/y'), 'm.org/y'],
    ['a host inside of a wildcard', ['*.test'], registry('b.test', 'm.org'), 'b.test m.org'],
    ['another registry', ['a.test'], registry('b.test', 'm.test'), ''],
  ])('are looked for at %s', (_, scopes, conf, others) => {
    const places = placesOf(scopes, conf).filter(
      (place) => place?.replaceAll("'", '') !== scopes[0],
    );
    expect(places.join(' ')).toBe(others);
  });

  it('need no file without policies', () => {
    expect(sigstoreRegistries([], undefined)).toBeUndefined();
  });
});
