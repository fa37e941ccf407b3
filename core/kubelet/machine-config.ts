/** The MachineConfigs of a pool that hold its kubelet's configuration. */

import type { GeneratedContent, GeneratedFile } from '../generated-configs';
import { baseWithKnownLatencyProfile, baseWithLatencyProfile, withTlsProfile } from './base';
import type { KubeletBase } from './base';
import type { ReadYaml } from './decode';
import { kubeletConf, loggingFiles, nodeSizingFiles } from './files';
import { cgroupArguments } from './node-config';
import type { GoFields } from './schema-types';
import type { UserKubeletConfig } from './types';
import { withUserConfiguration } from './user-configuration';

type Files = { readonly files: readonly GeneratedFile[] } | { readonly error: string };

/**
 * The files of a KubeletConfig for one pool, in order. The KubeletConfig has to be valid
 * (`userKubeletConfigError`, `staticPodPathError`).
 *
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), generateKubeletIgnFiles
 */
export function kubeletConfigFiles(
  base: KubeletBase,
  user: UserKubeletConfig,
  readYaml: ReadYaml,
): Files {
  const made = baseWithKnownLatencyProfile(base, readYaml);
  if ('error' in made) return made;
  const configuration = withTlsProfile(made.configuration, user.tlsSecurityProfile);
  const merged = withUserConfiguration(configuration, user.text, readYaml);
  if ('error' in merged) return merged;
  const conf = kubeletConf(merged.configuration);
  if ('error' in conf) return { error: `could not encode JSON: ${conf.error}` };
  return { files: [...nodeSizingFiles(user, merged.sized), ...loggingFiles(user), conf.file] };
}

/**
 * The files of the FeatureGate for one pool, also when there are no gates.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_features.go (7ff337a4)
 */
export function featureGateFiles(base: KubeletBase, readYaml: ReadYaml): Files {
  const made = baseWithKnownLatencyProfile(base, readYaml);
  return 'error' in made ? made : confOnly(made.configuration);
}

export type NodeConfigParts = GeneratedContent | { readonly error: string };

/**
 * What the Node `cluster` of config.openshift.io means for one pool. Values that it does not know are
 * an error here.
 *
 * @param existing - kernel arguments that the MachineConfig has
 * @see MCO pkg/controller/kubelet-config/kubelet_config_nodes.go (7ff337a4)
 */
export function nodeConfigParts(
  base: KubeletBase,
  readYaml: ReadYaml,
  existing: readonly string[] = [],
): NodeConfigParts {
  const made = baseWithLatencyProfile(base, readYaml);
  if ('error' in made) return made;
  const cgroups = cgroupArguments(base.node ?? {}, existing);
  if ('error' in cgroups) return cgroups;
  const conf = confOnly(made.configuration);
  return 'error' in conf ? conf : { ...conf, ...cgroups };
}

function confOnly(configuration: GoFields): Files {
  const conf = kubeletConf(configuration);
  return 'error' in conf ? conf : { files: [conf.file] };
}
