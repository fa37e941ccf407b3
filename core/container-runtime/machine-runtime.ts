/** Which container runtime the machines of a pool come with, by the files of their MachineConfigs. */

import { POLICY_JSON, REGISTRIES_CONF } from '../containers-files';
import { baseFile } from '../generated-configs';
import type { MachineConfig } from '../machine-config/types';
import type { MachineConfigPool } from '../pool/types';
import { STORAGE_CONF } from './storage-conf';

const CONTAINERD_CONFIG = '/etc/containerd/config.toml';
/** For machines without the file: every image is accepted. */
const ANY_IMAGE = '{"default":[{"type":"insecureAcceptAnything"}]}';

export interface MachineRuntime {
  /** Texts that CRI-O, podman and rpm-ostree read; absent = the machines have none of these files. */
  readonly containers?: {
    readonly storageConf: string;
    readonly registriesConf: string;
    readonly policyJson: string;
  };
  readonly isContainerd: boolean;
  /** Whether one of the files is of the pool's own MachineConfig, and not only of that of worker. */
  readonly isOwn: boolean;
}

export interface RuntimePorts {
  readonly gunzip: (bytes: Uint8Array) => Uint8Array;
  readonly configNamed: (name: string) => MachineConfig | undefined;
}

/** Or what is missing or cannot be read, and what to do. */
export function machineRuntime(
  pool: MachineConfigPool,
  ports: RuntimePorts,
): MachineRuntime | { readonly problem: string; readonly isOwn: boolean } {
  const of = (path: string) => baseFile(pool, { subject: 'container-runtime', path }, ports);
  const files = {
    storageConf: of(STORAGE_CONF),
    registriesConf: of(REGISTRIES_CONF),
    policyJson: of(POLICY_JSON),
    containerd: of(CONTAINERD_CONFIG),
  };
  const all = Object.values(files);
  for (const file of all) if ('problem' in file && !file.isMissing) return file;
  const { storageConf, registriesConf, policyJson, containerd } = files;
  const text = (file: (typeof all)[number]): string | undefined =>
    'text' in file ? file.text : undefined;
  const isOwn = all.some((file) => 'text' in file && file.isOwn);
  const isContainerd = 'text' in containerd;
  const hasContainers = [storageConf, registriesConf, policyJson].some((file) => 'text' in file);
  if (!hasContainers) {
    return 'problem' in registriesConf && !isContainerd ? registriesConf : { isContainerd, isOwn };
  }
  return {
    ...{ isContainerd, isOwn },
    containers: {
      storageConf: text(storageConf) ?? '',
      registriesConf: text(registriesConf) ?? '',
      policyJson: text(policyJson) ?? ANY_IMAGE,
    },
  };
}
