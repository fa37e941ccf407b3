/** Which container runtime the machines of a pool come with, by the files of their role. */

import { baseFile, type BaseFile } from '../generated-configs';
import type { MachineConfig } from '../machine-config/types';
import { STORAGE_CONF } from './storage-conf';

const CONTAINERD_CONFIG = '/etc/containerd/config.toml';
const REGISTRIES_CONF = '/etc/containers/registries.conf';
const POLICY_JSON = '/etc/containers/policy.json';
/** Of a machine without one: everything is pulled, from where it says. */
const ANY_IMAGE = '{"default":[{"type":"insecureAcceptAnything"}]}';

export interface MachineRuntime {
  /** Texts that CRI-O, podman and rpm-ostree read; absent = the role has none of these files. */
  readonly containers?: {
    readonly storageConf: string;
    readonly registriesConf: string;
    readonly policyJson: string;
  };
  readonly isContainerd: boolean;
}

export interface RuntimePorts {
  readonly gunzip: (bytes: Uint8Array) => Uint8Array;
  readonly configNamed: (name: string) => MachineConfig | undefined;
}

/** Or what is missing, and how to add it. */
export function machineRuntime(
  pool: string,
  ports: RuntimePorts,
): MachineRuntime | { readonly problem: string } {
  const of = (path: string) => baseFile(pool, runtimeFile(path), ports);
  const text = (path: string): string | undefined => {
    const found = of(path);
    return 'text' in found ? found.text : undefined;
  };
  const storageConf = text(STORAGE_CONF);
  const registriesConf = text(REGISTRIES_CONF);
  const policyJson = text(POLICY_JSON);
  const isContainerd = text(CONTAINERD_CONFIG) !== undefined;
  const hasContainers = [storageConf, registriesConf, policyJson].some((one) => one !== undefined);
  if (!hasContainers) {
    if (isContainerd) return { isContainerd };
    const missing = of(REGISTRIES_CONF);
    return 'problem' in missing ? missing : { isContainerd };
  }
  return {
    isContainerd,
    containers: {
      storageConf: storageConf ?? '',
      registriesConf: registriesConf ?? '',
      policyJson: policyJson ?? ANY_IMAGE,
    },
  };
}

function runtimeFile(path: string): BaseFile {
  return { subject: 'container-runtime', path };
}
