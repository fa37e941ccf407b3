/** Mirror sets: their refusals, and the merge of all rules for one source. */

import { goQuote } from '../encoding/go-quote';
import { isMirror, isSource } from './scopes';
import { topologicalOrder } from './topological';
import { NEVER_CONTACT_SOURCE, type MirrorRule, type MirrorSets } from './types';

/** The rules for one source, merged. */
export interface MergedMirrors {
  readonly source: string;
  /** In the order of preference; without the source when it would be last. */
  readonly mirrors: readonly string[];
  readonly neverContactSource: boolean;
}

/** Rules for images by digest; those of ImageContentSourcePolicies may contact the source. */
export function digestRules(sets: MirrorSets): readonly MirrorRule[] {
  return [
    ...sets.digestMirrorSets.flatMap(({ spec }) => spec.imageDigestMirrors ?? []),
    ...sets.contentSourcePolicies.flatMap(({ spec }) =>
      (spec.repositoryDigestMirrors ?? []).map(({ source, mirrors = [] }) => ({ source, mirrors })),
    ),
  ];
}

/** Rules for images by tag. */
export function tagRules(sets: MirrorSets): readonly MirrorRule[] {
  return sets.tagMirrorSets.flatMap(({ spec }) => spec.imageTagMirrors ?? []);
}

/**
 * The first refusal in MCO's words, or undefined.
 *
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4),
 *   validateRegistriesConfScopes
 */
export function mirrorRefusal(sets: MirrorSets): string | undefined {
  const policies = new Map<string, string>();
  for (const rule of [...digestRules(sets), ...tagRules(sets)]) {
    const refusal = ruleRefusal(rule, policies);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function ruleRefusal(
  { source, mirrors = [], mirrorSourcePolicy = '' }: MirrorRule,
  policies: Map<string, string>,
): string | undefined {
  if (!isSource(source)) return `invalid format for source ${goQuote(source)}`;
  const policy = mirrorSourcePolicy === '' ? 'AllowContactingSource' : mirrorSourcePolicy;
  const earlier = policies.get(source);
  if (earlier !== undefined && earlier !== policy) {
    const kinds = 'imagedigestmirrorsets, imagetagmirrorsets, or imagecontentsourcepolicies';
    return `conflicting mirrorSourcePolicy is set for the same source ${goQuote(source)} in ${kinds}`;
  }
  policies.set(source, policy);
  for (const mirror of mirrors) {
    if (!isMirror(mirror)) return `invalid format for mirror ${goQuote(mirror)}`;
    if (policy === NEVER_CONTACT_SOURCE && mirror === source) {
      return `cannot set mirrorSourcePolicy: NeverContactSource if the source ${goQuote(source)} is one of the mirrors`;
    }
  }
  return undefined;
}

/**
 * One entry per source, in the order of their names. A rule whose only mirror is its source has no
 * mirrors, and is ignored with its policy.
 *
 * @see openshift/runtime-utils pkg/registries/registries.go, mergedMirrorSets
 */
export function mergeMirrors(rules: readonly MirrorRule[]): readonly MergedMirrors[] {
  const bySource = new Map<string, MirrorRule[]>();
  for (const rule of rules) {
    if (!(rule.mirrors ?? []).some((mirror) => mirror !== rule.source)) continue;
    bySource.set(rule.source, [...(bySource.get(rule.source) ?? []), rule]);
  }
  const sources = [...bySource.keys()].sort();
  return sources.map((source) => {
    const own = bySource.get(source) ?? [];
    return {
      source,
      mirrors: inOrder(source, own),
      neverContactSource: own.some((rule) => rule.mirrorSourcePolicy === NEVER_CONTACT_SOURCE),
    };
  });
}

function inOrder(source: string, rules: readonly MirrorRule[]): readonly string[] {
  const pairs = rules.flatMap(({ mirrors = [] }) => {
    const places = mirrors.includes(source) ? mirrors : [...mirrors, source];
    return places.slice(1).map((place, i) => [places[i] ?? '', place] as const);
  });
  const order = topologicalOrder(pairs);
  return order.at(-1) === source ? order.slice(0, -1) : order;
}
