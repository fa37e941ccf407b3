import type { ImagePolicy, MirrorRule, MirrorSets, Policy } from '../../../../core/registries';

export const NO_MIRRORS: MirrorSets = {
  contentSourcePolicies: [],
  digestMirrorSets: [],
  tagMirrorSets: [],
};

export function digestMirrors(...imageDigestMirrors: MirrorRule[]): MirrorSets {
  const set = { metadata: { name: 'd' }, spec: { imageDigestMirrors } };
  return { ...NO_MIRRORS, digestMirrorSets: [set] };
}

export function tagMirrors(...imageTagMirrors: MirrorRule[]): MirrorSets {
  const set = { metadata: { name: 't' }, spec: { imageTagMirrors } };
  return { ...NO_MIRRORS, tagMirrorSets: [set] };
}

export const KEY_POLICY: Policy = {
  rootOfTrust: { policyType: 'PublicKey', publicKey: { keyData: 'a2V5' } },
};

export function imagePolicy(
  name: string,
  scopes: readonly string[],
  namespace?: string,
): ImagePolicy {
  return {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: { scopes, policy: KEY_POLICY },
  };
}
