/** The configuration that a cluster gives to the kubelets of a pool. */

import { decodeKubeletConfiguration, type ReadYaml } from './decode';
import { withLatencyProfile } from './node-config';
import type { GoFields } from './schema-types';
import { securityProfileCiphers, type TlsSecurityProfile } from './tls-profile';
import type { FeatureGates, NodeConfigSpec } from './types';
import { fieldsAt } from './values';

/** Objects of config.openshift.io that do not exist are absent. */
export interface KubeletBase {
  /** Of the machines, as for MCO a pool's name. */
  readonly role: string;
  /** Text of /etc/kubernetes/kubelet.conf in the MachineConfig `01-<role>-kubelet`. */
  readonly text: string;
  readonly featureGates?: FeatureGates | undefined;
  /** Of the APIServer `cluster`. */
  readonly tlsSecurityProfile?: TlsSecurityProfile | undefined;
  readonly node?: NodeConfigSpec | undefined;
}

type Result = { readonly configuration: GoFields } | { readonly error: string };

/**
 * The base with the TLS profile and the feature gates of the cluster.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_controller.go (7ff337a4),
 * generateOriginalKubeletConfigWithFeatureGates
 */
export function baseConfiguration(base: KubeletBase, readYaml: ReadYaml): Result {
  const decoded = decodeKubeletConfiguration(base.text, readYaml);
  if ('error' in decoded) {
    return { error: `could not deserialize the Kubelet source: ${decoded.error}` };
  }
  const configuration = withTlsProfile(decoded.configuration, base.tlsSecurityProfile);
  return { configuration: withFeatureGates(configuration, base.featureGates) };
}

/** The same with the latency profile, which workers take. */
export function baseWithLatencyProfile(base: KubeletBase, readYaml: ReadYaml): Result {
  const made = baseConfiguration(base, readYaml);
  if ('error' in made || base.role !== 'worker' || base.node === undefined) return made;
  return withLatencyProfile(made.configuration, base.node);
}

/** The same, where an unknown latency profile counts as none. */
export function baseWithKnownLatencyProfile(base: KubeletBase, readYaml: ReadYaml): Result {
  const made = baseWithLatencyProfile(base, readYaml);
  return 'error' in made ? baseConfiguration(base, readYaml) : made;
}

/** No profile leaves the values of the base. */
export function withTlsProfile(
  configuration: GoFields,
  profile: TlsSecurityProfile | undefined,
): GoFields {
  if (profile === undefined) return configuration;
  const { minTLSVersion, cipherSuites } = securityProfileCiphers(profile);
  return { ...configuration, tlsMinVersion: minTLSVersion, tlsCipherSuites: cipherSuites };
}

function withFeatureGates(configuration: GoFields, gates: FeatureGates | undefined): GoFields {
  if (gates === undefined) return configuration;
  const featureGates = {
    ...fieldsAt(configuration, 'featureGates'),
    ...Object.fromEntries(gates.enabled.map((gate) => [gate, true])),
    ...Object.fromEntries(gates.disabled.map((gate) => [gate, false])),
  };
  return { ...configuration, featureGates };
}
