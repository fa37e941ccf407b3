/** MachineConfigs of the cluster's Image config, mirror sets and image policies. */

import { messageOf } from '../errors';
import { baseName, generatedMachineConfig, generatedSpec } from '../generated-configs';
import type { MachineConfig } from '../machine-config/types';
import type { ObjectMeta, OwnerReference } from '../object-meta';
import type { TomlPort } from '../toml';
import { validLists, type ValidLists } from './blocked-registries';
import { registriesFiles, type BaseFiles, type RegistriesChoice } from './files';
import { scopedPolicies, type ScopedPolicies } from './image-policies';
import type { ImagePolicy, ImageSpec, MirrorSets } from './types';

interface Common {
  readonly mirrors: MirrorSets;
  /** Reference of the release that the cluster runs. */
  readonly releaseImage: string;
  readonly clusterImagePolicies: readonly ImagePolicy[];
  readonly imagePolicies: readonly ImagePolicy[];
  /** Feature gate SigstoreImageVerification: without it, policies are ignored. */
  readonly sigstoreVerification: boolean;
  readonly port: TomlPort;
  readonly pools: readonly { readonly name: string }[];
  readonly baseFilesOf: (role: string) => BaseFiles;
}

export interface SyncInput extends Common {
  readonly image: ImageSpec;
  readonly owner: OwnerReference;
  readonly controllerVersion: string;
}

export interface BootstrapInput extends Common {
  /** Absent = there is no Image config yet. */
  readonly image?: ImageSpec;
}

export interface SyncResult {
  /** Why entries of the blocked list were left out, in MCO's words; MCO only logs it. */
  readonly blockError?: string;
  /** Policies to which a condition is written. */
  readonly conflicts: ScopedPolicies['conflicts'];
  /** Absent = `error`. */
  readonly machineConfigs?: readonly MachineConfig[];
  /** In MCO's words. Nothing is written then; `conflicts` are. */
  readonly error?: string;
}

/**
 * What the objects of a running cluster ask for.
 *
 * @param input - only pools that MCO itself has: custom pools get the worker's
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_controller.go (7ff337a4),
 *   syncImageConfig
 */
export function syncRegistries(input: SyncInput): SyncResult {
  const { choice, ...said } = askedRegistries(input);
  if (choice === undefined) return said;
  const { controllerVersion, owner } = input;
  try {
    return {
      ...said,
      machineConfigs: machineConfigsOf(input, choice, { controllerVersion, owner }),
    };
  } catch (error) {
    return { ...said, error: notMade(error) };
  }
}

/** In MCO's words. */
export function notMade(error: unknown): string {
  return `could not Create/Update MachineConfig: ${messageOf(error)}`;
}

type Asked = Omit<SyncResult, 'machineConfigs'> & {
  /** Absent = `error`. */
  readonly choice?: RegistriesChoice;
};

/** What the objects ask for, of all pools alike. */
export function askedRegistries(
  input: Omit<SyncInput, 'port' | 'pools' | 'baseFilesOf' | 'owner' | 'controllerVersion'>,
): Asked {
  const { image, releaseImage } = input;
  const mirrors = inOrder(input.mirrors);
  let lists: ValidLists;
  try {
    lists = validLists(releaseImage, image, mirrors);
  } catch (error) {
    const message = messageOf(error);
    return { blockError: message, conflicts: [], error: message };
  }
  const blocked = lists.error === undefined ? {} : { blockError: lists.error };
  try {
    const policies = policiesOf(input, byName);
    const choice = { ...choiceOf(image), lists, policies, mirrors, releaseImage };
    return { ...blocked, conflicts: policies.conflicts, choice };
  } catch (error) {
    return { ...blocked, conflicts: [], error: messageOf(error) };
  }
}

/**
 * The same for the first machines of a cluster; only the conformance cases call it. MCO appends the list of allowed registries twice, so
 * that the release's repository alone is refused next to blocked ones.
 *
 * @throws `InvalidMachineConfig` in MCO's words
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_controller.go (7ff337a4),
 *   RunImageBootstrap
 */
export function bootstrapRegistries(input: BootstrapInput): readonly MachineConfig[] {
  const { image, mirrors, releaseImage } = input;
  const policies = policiesOf(input, (given) => given);
  const lists = image === undefined ? {} : validLists(releaseImage, image, mirrors);
  const again = image?.registrySources?.allowedRegistries ?? [];
  const allowed = [...(lists.allowed ?? []), ...again];
  const twice = allowed.length === 0 ? lists : { ...lists, allowed };
  const choice = { ...choiceOf(image), lists: twice, policies, mirrors, releaseImage };
  // The controller completes the reference, and adds its version.
  const owner = { apiVersion: 'config.openshift.io/v1', kind: 'Image', name: '', uid: '' };
  return machineConfigsOf(input, choice, { owner });
}

function policiesOf(
  {
    clusterImagePolicies,
    imagePolicies,
    sigstoreVerification,
  }: Pick<Common, 'clusterImagePolicies' | 'imagePolicies' | 'sigstoreVerification'>,
  ordered: (policies: readonly ImagePolicy[]) => readonly ImagePolicy[],
): ScopedPolicies {
  if (!sigstoreVerification) return scopedPolicies([], []);
  return scopedPolicies(ordered(clusterImagePolicies), ordered(imagePolicies));
}

function choiceOf(image: ImageSpec | undefined): Pick<RegistriesChoice, 'insecure' | 'search'> {
  const { insecureRegistries: insecure, containerRuntimeSearchRegistries: search } =
    image?.registrySources ?? {};
  return {
    ...(insecure === undefined ? {} : { insecure }),
    ...(search === undefined ? {} : { search }),
  };
}

function machineConfigsOf(
  { pools, port, baseFilesOf }: Common,
  choice: RegistriesChoice,
  meta: { readonly controllerVersion?: string; readonly owner: OwnerReference },
): readonly MachineConfig[] {
  return pools.map(({ name: pool }) => {
    const spec = generatedSpec({ files: registriesFiles(choice, baseFilesOf(pool), port) });
    return generatedMachineConfig({ name: baseName('registries', pool), pool, spec, ...meta });
  });
}

/** A cluster lists its objects in any order; by name, the files do not depend on it. */
function inOrder(mirrors: MirrorSets): MirrorSets {
  return {
    contentSourcePolicies: byName(mirrors.contentSourcePolicies),
    digestMirrorSets: byName(mirrors.digestMirrorSets),
    tagMirrorSets: byName(mirrors.tagMirrorSets),
  };
}

function byName<T extends { readonly metadata: ObjectMeta }>(objects: readonly T[]): readonly T[] {
  const keyOf = ({ metadata }: T): string => `${metadata.namespace ?? ''}/${metadata.name}`;
  return [...objects].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
