/** What MCO accepts although no machine can use it, or although it does not do what it seems to. */

import type { FieldProblem } from '../field-problem';
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
export function registriesProblems(input: RegistriesInput): readonly FieldProblem[] {
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

const IMAGE = { kind: 'Image', name: 'cluster' };
const SOURCES = ['spec', 'registrySources'];

function sourceProblems(sources: RegistrySources): readonly FieldProblem[] {
  const { containerRuntimeSearchRegistries: search } = sources;
  const listed = ['insecureRegistries', 'blockedRegistries', 'allowedRegistries'] as const;
  return [
    ...listed.flatMap((field) => listProblems(field, sources[field] ?? [], isSource)),
    ...listProblems('containerRuntimeSearchRegistries', search ?? [], isSearchRegistry),
    ...(search?.length === 0 ? [emptySearch()] : []),
  ];
}

function emptySearch(): FieldProblem {
  return {
    object: IMAGE,
    path: [...SOURCES, 'containerRuntimeSearchRegistries'],
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
): readonly FieldProblem[] {
  return entries.flatMap((entry, i): FieldProblem[] => {
    const place = { object: IMAGE, path: [...SOURCES, field, i] };
    const first = entries.indexOf(entry);
    if (first !== i) return [{ ...place, ...sameAs(entry, first) }];
    return isRight(entry) ? [] : [{ ...place, ...entryFault(entry, isWildcard(entry)) }];
  });
}

type Fault = Pick<FieldProblem, 'problem' | 'fix'>;

function sameAs(entry: string, first: number): Fault {
  return { problem: `${entry} is the same as [${first}]`, fix: 'remove one of them' };
}

function entryFault(entry: string, hasWildcard: boolean): Fault {
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

function releaseProblem(error: string): FieldProblem {
  return {
    object: IMAGE,
    path: [...SOURCES, 'blockedRegistries'],
    problem: `${error}; the entries are ignored`,
    fix: 'remove them, or mirror the repository of the release by digest to a registry that is not blocked',
  };
}

function mirrorProblems(sets: MirrorSets): readonly FieldProblem[] {
  const { contentSourcePolicies, digestMirrorSets, tagMirrorSets } = sets;
  const of = (kind: string, field: string, name: string, rules: readonly MirrorRule[] = []) =>
    rules.flatMap((rule, i) => ruleProblems(rule, { kind, name }, ['spec', field, i, 'mirrors']));
  return [
    ...contentSourcePolicies.flatMap(({ metadata: { name }, spec }) =>
      of('ImageContentSourcePolicy', 'repositoryDigestMirrors', name, spec.repositoryDigestMirrors),
    ),
    ...digestMirrorSets.flatMap(({ metadata: { name }, spec }) =>
      of('ImageDigestMirrorSet', 'imageDigestMirrors', name, spec.imageDigestMirrors),
    ),
    ...tagMirrorSets.flatMap(({ metadata: { name }, spec }) =>
      of('ImageTagMirrorSet', 'imageTagMirrors', name, spec.imageTagMirrors),
    ),
  ];
}

function ruleProblems(
  { source, mirrors = [], mirrorSourcePolicy }: MirrorRule,
  object: { readonly kind: string; readonly name: string },
  path: FieldProblem['path'],
): readonly FieldProblem[] {
  if (!mirrors.some((mirror) => mirror !== source)) {
    const also = mirrorSourcePolicy === NEVER_CONTACT_SOURCE ? ', and so is its policy' : '';
    const reason = mirrors.length === 0 ? 'has no mirrors' : 'has no mirror but its source';
    const problem = `the rule for ${source} ${reason}: it is ignored${also}`;
    return [{ object, path, problem, fix: 'name a mirror, or remove the rule' }];
  }
  return mirrors.flatMap((mirror, i): FieldProblem[] => {
    const place = { object, path: [...path, i] };
    const first = mirrors.indexOf(mirror);
    if (first !== i) return [{ ...place, ...sameAs(mirror, first) }];
    if (mirror !== source) return [];
    const problem = `${mirror} is the source itself, which is tried after the mirrors anyway`;
    return [{ ...place, problem, fix: 'remove it' }];
  });
}

function policyProblems(kind: string, { metadata, spec }: ImagePolicy): readonly FieldProblem[] {
  const { name, namespace } = metadata;
  const object = { kind, name, namespace };
  const path = ['spec', 'scopes'];
  const { scopes = [] } = spec;
  if (scopes.length === 0) {
    const problem = 'the policy has no scopes and applies to nothing';
    return [{ object, path, problem, fix: 'name a scope' }];
  }
  return scopes.flatMap((scope, i): FieldProblem[] => {
    const first = scopes.indexOf(scope);
    if (first === i) return [];
    const { problem, fix } = sameAs(scope, first);
    const demanded = `${problem}, so its requirement is demanded twice`;
    return [{ object, path: [...path, i], problem: demanded, fix }];
  });
}
