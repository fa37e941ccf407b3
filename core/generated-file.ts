/** MachineConfigs that Slipway generates from other objects: their files, bytes as MCO writes them. */

import type { IgnitionConfig, IgnitionFile, MachineConfig } from './machine-config/types';
import { LABEL, MCO_GROUP, MCO_VERSION } from './names';
import type { OwnerReference } from './object-meta';

export interface GeneratedFile {
  readonly path: string;
  readonly contents: string;
}

interface GeneratedMachineConfig {
  readonly name: string;
  /** Value of the role label. */
  readonly role: string;
  readonly files: readonly GeneratedFile[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owner: OwnerReference;
}

/** @see MCO pkg/controller/common/helpers.go (7ff337a4), MachineConfigFromIgnConfig */
export function machineConfigOf(given: GeneratedMachineConfig): MachineConfig {
  const { name, role, files, annotations, owner } = given;
  return {
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    kind: 'MachineConfig',
    metadata: {
      name,
      labels: { [LABEL.ROLE]: role },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [owner],
    },
    spec: { config: ignitionOf(files) },
  };
}

function ignitionOf(files: readonly GeneratedFile[]): IgnitionConfig {
  const ignition = { version: '3.5.0' };
  return files.length === 0 ? { ignition } : { ignition, storage: { files: files.map(fileOf) } };
}

function fileOf({ path, contents }: GeneratedFile): IgnitionFile {
  const base64 = Buffer.from(contents).toString('base64');
  return {
    path,
    overwrite: true,
    mode: 0o644,
    // An empty compression keeps a merge from inheriting another file's.
    contents: { compression: '', source: `data:text/plain;charset=utf-8;base64,${base64}` },
  };
}
