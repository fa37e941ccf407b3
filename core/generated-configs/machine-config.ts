/** MachineConfigs that Slipway generates from other objects: their files, bytes as MCO writes them. */

import type {
  IgnitionConfig,
  IgnitionFile,
  MachineConfig,
  MachineConfigSpec,
} from '../machine-config/types';
import { ANNOTATION, LABEL, MCO_GROUP, MCO_VERSION } from '../names';
import type { ObjectMeta, OwnerReference } from '../object-meta';

export interface GeneratedFile {
  readonly path: string;
  readonly contents: string;
}

/** What one says. */
export interface GeneratedContent {
  readonly files: readonly GeneratedFile[];
  readonly kernelArguments?: readonly string[] | undefined;
}

interface GeneratedConfig {
  readonly name: string;
  /** Also its role. */
  readonly pool: string;
  readonly spec: MachineConfigSpec;
  /** Absent = the controllers add it later. */
  readonly controllerVersion?: string | undefined;
  /** Beside the version. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly owner?: OwnerReference | undefined;
}

/** @see MCO pkg/controller/common/helpers.go (7ff337a4), MachineConfigFromIgnConfig */
export function generatedMachineConfig(generated: GeneratedConfig): MachineConfig {
  const { name, pool, spec, controllerVersion: version, owner } = generated;
  const annotations = {
    ...(version === undefined ? {} : { [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: version }),
    ...generated.annotations,
  };
  return {
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    kind: 'MachineConfig',
    metadata: {
      name,
      labels: { [LABEL.ROLE]: pool },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec,
  };
}

export function generatedSpec({ files, kernelArguments }: GeneratedContent): MachineConfigSpec {
  const ignition = { version: '3.5.0' };
  const config: IgnitionConfig =
    files.length === 0 ? { ignition } : { ignition, storage: { files: files.map(generatedFile) } };
  return { config, ...(kernelArguments === undefined ? {} : { kernelArguments }) };
}

export function generatedFile({ path, contents }: GeneratedFile): IgnitionFile {
  return { path, mode: 0o644, overwrite: true, contents: fileContents(contents) };
}

/** In the words of MCO, because rendered configs are named by their bytes. */
export function fileContents(text: string): NonNullable<IgnitionFile['contents']> {
  const base64 = Buffer.from(text).toString('base64');
  // An empty compression keeps a merge from inheriting another file's.
  return { compression: '', source: `data:text/plain;charset=utf-8;base64,${base64}` };
}

/** The owner of what an object generates in a running cluster. */
export function originOwner(
  { kind }: Pick<OwnerReference, 'kind'>,
  { name, uid = '' }: Pick<ObjectMeta, 'name' | 'uid'>,
): OwnerReference {
  return { ...bootstrapOwner({ kind }), name, uid, controller: true, blockOwnerDeletion: true };
}

/**
 * The same at installation: the object has no UID yet, and MCO leaves out its name. The controllers
 * write the reference anew.
 */
export function bootstrapOwner({ kind }: Pick<OwnerReference, 'kind'>): OwnerReference {
  return { apiVersion: `${MCO_GROUP}/${MCO_VERSION}`, kind, name: '', uid: '' };
}
