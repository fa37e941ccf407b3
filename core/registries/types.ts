/**
 * Objects that say where images come from: the cluster's Image config, mirror sets and image
 * policies, as in `config.openshift.io/v1` and `operator.openshift.io/v1alpha1`.
 */

import type { ObjectMeta } from '../object-meta';

/** `spec` of the cluster's Image config; fields about builds are not read. */
export interface ImageSpec {
  readonly registrySources?: RegistrySources;
}

/** An empty list is not an absent one: MCO then writes the file unchanged. */
export interface RegistrySources {
  readonly insecureRegistries?: readonly string[];
  readonly blockedRegistries?: readonly string[];
  readonly allowedRegistries?: readonly string[];
  readonly containerRuntimeSearchRegistries?: readonly string[];
}

export const NEVER_CONTACT_SOURCE = 'NeverContactSource';

export interface MirrorRule {
  readonly source: string;
  readonly mirrors?: readonly string[];
  /** `AllowContactingSource` when absent or empty. */
  readonly mirrorSourcePolicy?: string;
}

export interface ImageContentSourcePolicy {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly repositoryDigestMirrors?: readonly MirrorRule[] };
}

export interface ImageDigestMirrorSet {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly imageDigestMirrors?: readonly MirrorRule[] };
}

export interface ImageTagMirrorSet {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly imageTagMirrors?: readonly MirrorRule[] };
}

/** All mirrors of a cluster. */
export interface MirrorSets {
  readonly contentSourcePolicies: readonly ImageContentSourcePolicy[];
  readonly digestMirrorSets: readonly ImageDigestMirrorSet[];
  readonly tagMirrorSets: readonly ImageTagMirrorSet[];
}

/** A ClusterImagePolicy, or an ImagePolicy with a namespace. */
export interface ImagePolicy {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly scopes?: readonly string[]; readonly policy: Policy };
}

/** Key data is base64. */
export interface Policy {
  readonly rootOfTrust: {
    readonly policyType: string;
    readonly publicKey?: { readonly keyData?: string; readonly rekorKeyData?: string };
    readonly fulcioCAWithRekor?: {
      readonly fulcioCAData?: string;
      readonly rekorKeyData?: string;
      readonly fulcioSubject?: { readonly oidcIssuer?: string; readonly signedEmail?: string };
    };
    readonly pki?: {
      readonly caRootsData?: string;
      readonly caIntermediatesData?: string;
      readonly pkiCertificateSubject?: { readonly email?: string; readonly hostname?: string };
    };
  };
  readonly signedIdentity?: {
    readonly matchPolicy?: string;
    readonly exactRepository?: { readonly repository?: string };
    readonly remapIdentity?: { readonly prefix?: string; readonly signedPrefix?: string };
  };
}
