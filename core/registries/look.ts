/** One look at everything that says where machines may pull images from. */

import { machineRuntime, type MachineRuntime } from '../container-runtime/machine-runtime';
import { messageOf } from '../errors';
import type { FieldProblem } from '../field-problem';
import {
  baseName,
  forAll,
  generatedFile,
  generatedMachineConfig,
  legacyName,
  storedConfig,
  type ConfigWrite,
  type Due,
  type GeneratedFile,
} from '../generated-configs';
import type { MachineConfig } from '../machine-config/types';
import { CONFIG_GROUP, LABEL } from '../names';
import type { ObjectMeta } from '../object-meta';
import type { MachineConfigPool } from '../pool/types';
import type { TomlPort } from '../toml';
import { containerdRegistries } from './containerd';
import { registriesFiles } from './files';
import { askedRegistries, notMade, type SyncResult } from './generate';
import { registriesProblems } from './problems';
import { parseNamed } from './reference';
import type { ImagePolicy, ImageSpec, MirrorSets } from './types';

/** Of a cluster without a release: nobody pulls from there. */
const NO_RELEASE = 'release.invalid/none';

/** Of many objects. */
const FROM = 'registries';

export interface RegistriesPicture {
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: {
    get(name: string): MachineConfig | undefined;
    list(): readonly MachineConfig[];
  };
  /** The Image `cluster` of config.openshift.io. */
  readonly image: { readonly metadata: ObjectMeta; readonly spec?: ImageSpec } | undefined;
  readonly mirrors: MirrorSets;
  readonly clusterImagePolicies: readonly ImagePolicy[];
  readonly imagePolicies: readonly ImagePolicy[];
  /** Image of the release that the cluster runs, which may not be blocked. */
  readonly releaseImage: string | undefined;
  readonly version: string;
  readonly toml: TomlPort;
  readonly gunzip: (bytes: Uint8Array) => Uint8Array;
}

export interface RegistriesLook {
  readonly writes: readonly ConfigWrite[];
  /** Why pools keep what they have. */
  readonly refused: readonly string[];
  /** ImagePolicies of which some scopes do not apply. */
  readonly conflicts: SyncResult['conflicts'];
  /** Values without the effect that they seem to have. */
  readonly ignored: readonly FieldProblem[];
}

/** A pool that is refused keeps what it has; the others do not wait for it. */
export function lookAtRegistries(picture: RegistriesPicture): RegistriesLook {
  const { machineConfigs, gunzip } = picture;
  const ports = { gunzip, configNamed: (name: string) => machineConfigs.get(name) };
  const runtimeOf = (pool: MachineConfigPool) => machineRuntime(pool, ports);
  const { due, gone } = forAll(isAsked(picture) ? picture.pools : [], {
    ...{ from: FROM, nameOf: (pool) => baseName('registries', pool), machineConfigs },
    hasOwnFiles: (pool) => isBuiltIn(pool) || runtimeOf(pool).isOwn,
  });
  const wishes = wishesOf(picture);
  const made = due.map((one) => madeFor(one, runtimeOf(one.pool), { ...picture, ...wishes }));
  const refused = [...new Set(made.flatMap((one) => ('problem' in one ? [one.problem] : [])))];
  const good = made.flatMap((one) => ('writes' in one ? [one] : []));
  return {
    refused,
    conflicts: good[0]?.hasPolicies === true ? wishes.containers.conflicts : [],
    writes: [...good.flatMap(({ writes }) => writes), ...gone],
    // What is refused everywhere is said once, as that.
    ignored:
      good.length === 0 ? [] : [...problemsOf(picture), ...good.flatMap((one) => one.ignored)],
  };
}

/** What the objects ask for, in the forms of both runtimes. */
interface Wishes {
  readonly containers: ReturnType<typeof askedRegistries>;
  readonly containerd: ReturnType<typeof containerdRegistries> | { readonly error: string };
}

function wishesOf(picture: RegistriesPicture): Wishes {
  const image = picture.image?.spec ?? {};
  return {
    containers: askedRegistries({
      ...{ ...picture, image, sigstoreVerification: true },
      releaseImage: picture.releaseImage ?? NO_RELEASE,
    }),
    containerd: orError(() => containerdRegistries(image, picture.mirrors)),
  };
}

function orError<T>(make: () => T): T | { readonly error: string } {
  try {
    return make();
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/**
 * MCO takes the pools of this label alone.
 *
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_controller.go (7ff337a4)
 */
function isBuiltIn({ metadata: { labels } }: MachineConfigPool): boolean {
  return labels !== undefined && Object.hasOwn(labels, LABEL.BUILT_IN_POOL);
}

function isAsked({
  image,
  mirrors,
  clusterImagePolicies,
  imagePolicies,
}: RegistriesPicture): boolean {
  const { contentSourcePolicies, digestMirrorSets, tagMirrorSets } = mirrors;
  const lists: readonly (readonly unknown[])[] = [
    ...[contentSourcePolicies, digestMirrorSets, tagMirrorSets],
    ...[clusterImagePolicies, imagePolicies],
  ];
  return image !== undefined || lists.some((list) => list.length > 0);
}

type Made =
  | { readonly problem: string }
  | {
      readonly writes: readonly ConfigWrite[];
      /** Whether image policies are among its files. */
      readonly hasPolicies: boolean;
      readonly ignored: readonly FieldProblem[];
    };

function madeFor(
  { pool: { metadata }, name, before, annotations }: Due,
  runtime: ReturnType<typeof machineRuntime>,
  given: RegistriesPicture & Wishes,
): Made {
  if ('problem' in runtime) return runtime;
  const ofContainers = filesOfContainers(runtime, given);
  if ('problem' in ofContainers) return ofContainers;
  const ofContainerd = runtime.isContainerd ? given.containerd : { files: [], problems: [] };
  if ('error' in ofContainerd) return { problem: ofContainerd.error };
  const { image, version } = given;
  const files = [...ofContainerd.files, ...ofContainers.files].map(generatedFile);
  const config = generatedMachineConfig({
    ...{ name, pool: metadata.name, annotations, controllerVersion: version },
    spec: { config: { ignition: { version: '3.5.0' }, storage: { files } } },
    owner: image === undefined ? undefined : ownerOf(image),
  });
  return {
    writes: [...storedConfig(before, config), ...replaced(metadata, given)],
    ...{ hasPolicies: runtime.containers !== undefined, ignored: ofContainerd.problems },
  };
}

/** The MachineConfig under its name of before OpenShift 4.7. */
function replaced(
  pool: ObjectMeta,
  { machineConfigs }: Pick<RegistriesPicture, 'machineConfigs'>,
): readonly ConfigWrite[] {
  const name = legacyName('registries', pool);
  return machineConfigs.get(name) === undefined ? [] : [{ do: 'remove', name }];
}

function filesOfContainers(
  { containers: base }: MachineRuntime,
  { containers: { choice, error = '' }, toml }: Wishes & RegistriesPicture,
): { readonly files: readonly GeneratedFile[] } | { readonly problem: string } {
  if (base === undefined) return { files: [] };
  if (choice === undefined) return { problem: error };
  try {
    return { files: registriesFiles(choice, base, toml) };
  } catch (thrown) {
    return { problem: notMade(thrown) };
  }
}

function problemsOf(picture: RegistriesPicture): readonly FieldProblem[] {
  const { image, mirrors, clusterImagePolicies, imagePolicies, releaseImage } = picture;
  return registriesProblems({
    ...{ image: image?.spec ?? {}, mirrors, clusterImagePolicies, imagePolicies },
    // One that is no reference is refused where it counts.
    ...(releaseImage === undefined || parseNamed(releaseImage) === undefined
      ? {}
      : { releaseImage }),
  });
}

function ownerOf({ metadata: { name, uid = '' } }: { readonly metadata: ObjectMeta }) {
  return { apiVersion: `${CONFIG_GROUP}/v1`, kind: 'Image', name, uid };
}
