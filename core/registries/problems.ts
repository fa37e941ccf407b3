/** What MCO accepts although no machine can use it, or although it does not do what it seems to. */

import type { ConfigProblem } from '../config-problem';
import { validLists } from './blocked-registries';
import { isMirror, isSource, isWildcard } from './scopes';
import {
  NEVER_CONTACT_SOURCE,
  type ImagePolicy,
  type ImageSpec,
  type MirrorRule,
  type MirrorSets,
  type RegistrySources,
} from './types';

interface RegistriesInput {
  readonly image: ImageSpec;
  readonly mirrors: MirrorSets;
  readonly clusterImagePolicies: readonly ImagePolicy[];
  readonly imagePolicies: readonly ImagePolicy[];
  /** Absent = there is no release whose repository has to stay reachable. */
  readonly releaseImage?: string;
}

/**
 * Problems of objects that MCO accepts; they are applied as MCO does.
 *
 * @throws `InvalidMachineConfig` when the release image is no full reference
 */
export function registriesProblems(input: RegistriesInput): readonly ConfigProblem[] {
  const { image, mirrors, releaseImage, clusterImagePolicies, imagePolicies } = input;
  const lists = releaseImage === undefined ? {} : validLists(releaseImage, image, mirrors);
  return [
    ...sourceProblems(image.registrySources ?? {}),
    ...(lists.error === undefined ? [] : [releaseProblem(lists.error)]),
    ...mirrorProblems(mirrors),
    ...clusterImagePolicies.flatMap((policy) => policyProblems('ClusterImagePolicy', policy)),
    ...imagePolicies.flatMap((policy) => policyProblems('ImagePolicy', policy)),
  ];
}

const SOURCES = 'Image cluster: spec.registrySources';

function sourceProblems(sources: RegistrySources): readonly ConfigProblem[] {
  const { containerRuntimeSearchRegistries: search } = sources;
  const listed = ['insecureRegistries', 'blockedRegistries', 'allowedRegistries'] as const;
  return [
    ...listed.flatMap((field) => listProblems(field, sources[field] ?? [], isSource)),
    ...listProblems('containerRuntimeSearchRegistries', search ?? [], isSearchRegistry),
    ...(search?.length === 0 ? [emptySearch()] : []),
  ];
}

function emptySearch(): ConfigProblem {
  return {
    path: `${SOURCES}.containerRuntimeSearchRegistries`,
    problem: 'an empty list turns short names of images off',
    fix: 'remove the field, or name a registry',
  };
}

/** Anything else keeps CRI-O from starting. */
function isSearchRegistry(text: string): boolean {
  return isMirror(text) && !text.includes('/');
}

function listProblems(
  field: keyof RegistrySources,
  entries: readonly string[],
  isRight: (entry: string) => boolean,
): readonly ConfigProblem[] {
  return entries.flatMap((entry, i): ConfigProblem[] => {
    const path = `${SOURCES}.${field}[${i}]`;
    const first = entries.indexOf(entry);
    if (first !== i) {
      return [{ path, problem: `${entry} is the same as [${first}]`, fix: 'remove one of them' }];
    }
    return isRight(entry) ? [] : [{ path, ...entryFault(entry, isWildcard(entry)) }];
  });
}

function entryFault(entry: string, hasWildcard: boolean): Pick<ConfigProblem, 'problem' | 'fix'> {
  const shown = JSON.stringify(entry);
  const scheme = /^[a-z]+:\/\//.exec(entry)?.[0];
  if (scheme !== undefined) {
    return {
      problem: `${shown} matches no image, because it begins with ${scheme}`,
      fix: `write ${entry.slice(scheme.length)}`,
    };
  }
  if (/@|\/[^/]*:|:[^/]*[^0-9/]/.test(entry)) {
    return {
      problem: `${shown} names one image, not a registry or a repository`,
      fix: 'remove its tag or digest',
    };
  }
  return hasWildcard
    ? { problem: `${shown} is no registry`, fix: 'name each registry without a wildcard' }
    : { problem: `${shown} is no registry`, fix: 'write for example registry.example.com:5000' };
}

function releaseProblem(error: string): ConfigProblem {
  return {
    path: `${SOURCES}.blockedRegistries`,
    problem: `${error}; the entries are ignored`,
    fix: 'remove them, or mirror the repository of the release by digest to a registry that is not blocked',
  };
}

function mirrorProblems(sets: MirrorSets): readonly ConfigProblem[] {
  return [
    ...sets.contentSourcePolicies.flatMap(({ metadata, spec }) =>
      ruleProblems(
        `ImageContentSourcePolicy ${metadata.name}: spec.repositoryDigestMirrors`,
        spec.repositoryDigestMirrors,
      ),
    ),
    ...sets.digestMirrorSets.flatMap(({ metadata, spec }) =>
      ruleProblems(
        `ImageDigestMirrorSet ${metadata.name}: spec.imageDigestMirrors`,
        spec.imageDigestMirrors,
      ),
    ),
    ...sets.tagMirrorSets.flatMap(({ metadata, spec }) =>
      ruleProblems(
        `ImageTagMirrorSet ${metadata.name}: spec.imageTagMirrors`,
        spec.imageTagMirrors,
      ),
    ),
  ];
}

function ruleProblems(list: string, rules: readonly MirrorRule[] = []): readonly ConfigProblem[] {
  return rules.flatMap((rule, i) => ruleProblem(`${list}[${i}]`, rule));
}

function ruleProblem(path: string, rule: MirrorRule): readonly ConfigProblem[] {
  const { source, mirrors = [], mirrorSourcePolicy } = rule;
  if (!mirrors.some((mirror) => mirror !== source)) {
    const also = mirrorSourcePolicy === NEVER_CONTACT_SOURCE ? ', and so is its policy' : '';
    const reason = mirrors.length === 0 ? 'has no mirrors' : 'has no mirror but its source';
    return [
      {
        path: `${path}.mirrors`,
        problem: `the rule for ${source} ${reason}: it is ignored${also}`,
        fix: 'name a mirror, or remove the rule',
      },
    ];
  }
  return mirrors.flatMap((mirror, i): ConfigProblem[] => {
    const at = `${path}.mirrors[${i}]`;
    const first = mirrors.indexOf(mirror);
    if (first !== i) {
      return [
        { path: at, problem: `${mirror} is the same as [${first}]`, fix: 'remove one of them' },
      ];
    }
    if (mirror !== source) return [];
    const problem = `${mirror} is the source itself, which is tried after the mirrors anyway`;
    return [{ path: at, problem, fix: 'remove it' }];
  });
}

function policyProblems(kind: string, { metadata, spec }: ImagePolicy): readonly ConfigProblem[] {
  const { name, namespace } = metadata;
  const path = `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}: spec.scopes`;
  const scopes = spec.scopes ?? [];
  if (scopes.length === 0) {
    return [
      { path, problem: 'the policy has no scopes and applies to nothing', fix: 'name a scope' },
    ];
  }
  return scopes.flatMap((scope, i): ConfigProblem[] => {
    const first = scopes.indexOf(scope);
    if (first === i) return [];
    const problem = `${scope} is the same as [${first}], so its requirement is demanded twice`;
    return [{ path: `${path}[${i}]`, problem, fix: 'remove one of them' }];
  });
}
