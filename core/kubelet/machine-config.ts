/** The MachineConfigs of a pool that hold its kubelet's configuration. */

import type { IgnitionFile, MachineConfig } from '../machine-config/types';
import { ANNOTATION, LABEL, MCO_GROUP, MCO_VERSION } from '../names';
import type { OwnerReference } from '../object-meta';
import { baseWithKnownLatencyProfile, baseWithLatencyProfile, withTlsProfile } from './base';
import type { KubeletBase } from './base';
import type { ReadYaml } from './decode';
import { kubeletConf, loggingFiles, nodeSizingFiles } from './files';
import { cgroupArguments } from './node-config';
import type { GoFields } from './schema-types';
import type { UserKubeletConfig } from './types';
import { withUserConfiguration } from './user-configuration';

/** Of the Ignition of what is generated. */
const IGNITION_VERSION = '3.5.0';

const OWNER = { apiVersion: `${MCO_GROUP}/${MCO_VERSION}`, kind: 'KubeletConfig' } as const;

/** At installation, a KubeletConfig has no UID yet, and MCO leaves out its name. */
export const BOOTSTRAP_OWNER: OwnerReference = { ...OWNER, name: '', uid: '' };

/** The owner of what a KubeletConfig generates in a running cluster. */
export function kubeletConfigOwner(name: string, uid: string): OwnerReference {
  return { ...OWNER, name, uid, controller: true, blockOwnerDeletion: true };
}

type Files = { readonly files: readonly IgnitionFile[] } | { readonly error: string };

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

export type NodeConfigParts =
  | { readonly files: readonly IgnitionFile[]; readonly kernelArguments: readonly string[] }
  | { readonly error: string };

/**
 * What the Node `cluster` of config.openshift.io means for one pool. Values that it does not know are
 * an error here.
 *
 * @param existing - kernel arguments that the MachineConfig has
 * @param hasCgroups - false = leave its kernel arguments alone: `takesCgroupArguments`
 * @see MCO pkg/controller/kubelet-config/kubelet_config_nodes.go (7ff337a4)
 */
export function nodeConfigParts(
  base: KubeletBase,
  readYaml: ReadYaml,
  { existing = [], hasCgroups }: { existing?: readonly string[]; hasCgroups: boolean },
): NodeConfigParts {
  const made = baseWithLatencyProfile(base, readYaml);
  if ('error' in made) return made;
  const cgroups = hasCgroups
    ? cgroupArguments(base.node ?? {}, existing)
    : { kernelArguments: existing };
  if ('error' in cgroups) return cgroups;
  const conf = confOnly(made.configuration);
  return 'error' in conf ? conf : { ...conf, ...cgroups };
}

function confOnly(configuration: GoFields): Files {
  const conf = kubeletConf(configuration);
  return 'error' in conf ? conf : { files: [conf.file] };
}

/** The name without a suffix: 97 of the Node, 98 of the FeatureGate, 99 of a KubeletConfig. */
export function generatedKubeletName(prefix: 97 | 98 | 99, pool: string): string {
  return `${prefix}-${pool}-generated-kubelet`;
}

interface Generated {
  readonly name: string;
  readonly pool: string;
  readonly files: readonly IgnitionFile[];
  readonly kernelArguments?: readonly string[];
  readonly controllerVersion: string;
  /** Absent for those of the cluster's objects. */
  readonly owner?: OwnerReference;
}

/** The MachineConfig, with the role of the pool. */
export function generatedMachineConfig(generated: Generated): MachineConfig {
  const { name, pool, files, kernelArguments, controllerVersion, owner } = generated;
  return {
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    kind: 'MachineConfig',
    metadata: {
      name,
      labels: { [LABEL.ROLE]: pool },
      annotations: { [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: controllerVersion },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      config: { ignition: { version: IGNITION_VERSION }, storage: { files } },
      ...(kernelArguments === undefined ? {} : { kernelArguments }),
    },
  };
}
