import { fieldProblemText } from '../../../../core/field-problem';
import {
  registriesProblems,
  type MirrorSets,
  type RegistrySources,
} from '../../../../core/registries';
import { digestMirrors, imagePolicy, NO_MIRRORS, tagMirrors } from './builders';

const problems = (
  registrySources: RegistrySources,
  mirrors: MirrorSets = NO_MIRRORS,
  policies: { readonly clusterImagePolicies?: []; readonly releaseImage?: string } = {},
) =>
  registriesProblems({
    image: { registrySources },
    mirrors,
    clusterImagePolicies: [],
    imagePolicies: [],
    ...policies,
  }).map(fieldProblemText);

const SOURCES = 'Image cluster: spec.registrySources';

describe('problems of what MCO accepts', () => {
  it.each<[RegistrySources, string]>([
    [
      { insecureRegistries: ['https://a.test'] },
      `${SOURCES}.insecureRegistries[0]: "https://a.test" matches no image, because it begins with https://; write a.test`,
    ],
    [
      { blockedRegistries: ['a.test/b:1'] },
      `${SOURCES}.blockedRegistries[0]: "a.test/b:1" names one image, not a registry or a repository; remove its tag or digest`,
    ],
    [
      { allowedRegistries: ['a.test', 'a.test'] },
      `${SOURCES}.allowedRegistries[1]: a.test is the same as [0]; remove one of them`,
    ],
    [
      { allowedRegistries: ['a.test/'] },
      `${SOURCES}.allowedRegistries[0]: "a.test/" is no registry; write for example registry.example.com:5000`,
    ],
    [
      { containerRuntimeSearchRegistries: ['*.test'] },
      `${SOURCES}.containerRuntimeSearchRegistries[0]: "*.test" is no registry; name each registry without a wildcard`,
    ],
    [
      { containerRuntimeSearchRegistries: [] },
      `${SOURCES}.containerRuntimeSearchRegistries: an empty list turns short names of images off; remove the field, or name a registry`,
    ],
  ])('%j', (sources, problem) => {
    expect(problems(sources)).toEqual([problem]);
  });

  it.each<[MirrorSets, string]>([
    [
      digestMirrors({ source: 's.test', mirrors: ['s.test'] }),
      'ImageDigestMirrorSet d: spec.imageDigestMirrors[0].mirrors: the rule for s.test has no mirror but its source: it is ignored; name a mirror, or remove the rule',
    ],
    [
      tagMirrors({ source: 's.test', mirrorSourcePolicy: 'NeverContactSource' }),
      'ImageTagMirrorSet t: spec.imageTagMirrors[0].mirrors: the rule for s.test has no mirrors: it is ignored, and so is its policy; name a mirror, or remove the rule',
    ],
    [
      digestMirrors({ source: 's.test', mirrors: ['m.test', 's.test'] }),
      'ImageDigestMirrorSet d: spec.imageDigestMirrors[0].mirrors[1]: s.test is the source itself, which is tried after the mirrors anyway; remove it',
    ],
    [
      digestMirrors({ source: 's.test', mirrors: ['m.test', 'm.test'] }),
      'ImageDigestMirrorSet d: spec.imageDigestMirrors[0].mirrors[1]: m.test is the same as [0]; remove one of them',
    ],
  ])('%j', (mirrors, problem) => {
    expect(problems({}, mirrors)).toEqual([problem]);
  });

  it('are entries that would block the release', () => {
    const releaseImage = `r.test/ocp@sha256:${'0'.repeat(64)}`;
    const found = problems({ blockedRegistries: ['r.test'] }, NO_MIRRORS, { releaseImage });
    expect(found).toEqual([
      expect.stringContaining(`${SOURCES}.blockedRegistries: error adding ["r.test"]`),
    ]);
  });

  it('are policies without scopes, and scopes that are named twice', () => {
    const found = registriesProblems({
      image: {},
      mirrors: NO_MIRRORS,
      clusterImagePolicies: [imagePolicy('c', [])],
      imagePolicies: [imagePolicy('p', ['a.test', 'a.test'], 'ns')],
    });
    expect(found.map(fieldProblemText)).toEqual([
      'ClusterImagePolicy c: spec.scopes: the policy has no scopes and applies to nothing; name a scope',
      'ImagePolicy ns/p: spec.scopes[1]: a.test is the same as [0], so its requirement is demanded twice; remove one of them',
    ]);
  });

  it('are none of sound objects', () => {
    const mirrors = digestMirrors({ source: '*.s.test', mirrors: ['m.test:5000/x'] });
    const registries = ['a.test', 'b.test:5000/c', '*.d.test', 'localhost'];
    const sources = {
      insecureRegistries: registries,
      blockedRegistries: registries,
      containerRuntimeSearchRegistries: ['a.test:5000'],
    };
    expect(problems(sources, mirrors)).toEqual([]);
  });
});
