/** One look at everything that says where machines may pull images from. */

import { machineRuntime, type MachineRuntime } from '../container-runtime/machine-runtime';
import { messageOf } from '../errors';
import type { FieldProblem } from '../field-problem';
import {
  baseName,
  forAll,
  generatedMachineConfig,
  generatedSpec,
  storedConfig,
  type ConfigWrite,
  type Due,
} from '../generated-configs';
import type { IgnitionConfig, MachineConfig } from '../machine-config/types';
import { CONFIG_GROUP, LABEL } from '../names';
import type { ObjectMeta } from '../object-meta';
import type { MachineConfigPool } from '../pool/types';
import type { TomlPort } from '../toml';
import { containerdRegistries } from './containerd';
import { syncRegistries, type SyncResult } from './generate';
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
  const made = due.map((one) => madeFor(one, runtimeOf(one.pool), picture));
  const refused = [...new Set(made.flatMap((one) => ('problem' in one ? [one.problem] : [])))];
  const good = made.flatMap((one) => ('writes' in one ? [one] : []));
  return {
    ...{ refused, conflicts: good[0]?.conflicts ?? [] },
    writes: [...good.flatMap(({ writes }) => writes), ...gone],
    // What is refused everywhere is said once, as that.
    ignored:
      good.length === 0 ? [] : [...problemsOf(picture), ...good.flatMap((one) => one.ignored)],
  };
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
      readonly conflicts: SyncResult['conflicts'];
      readonly ignored: readonly FieldProblem[];
    };

function madeFor(
  due: Due,
  runtime: ReturnType<typeof machineRuntime>,
  picture: RegistriesPicture,
): Made {
  if ('problem' in runtime) return runtime;
  try {
    return together(due, runtime, picture);
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** @throws `InvalidMachineConfig` in MCO's words */
function together(
  { pool: { metadata }, name, before, annotations }: Due,
  runtime: MachineRuntime,
  picture: RegistriesPicture,
): Made {
  const { image, mirrors, version } = picture;
  const ofContainers = synced(metadata.name, runtime, picture);
  if (ofContainers?.error !== undefined) return { problem: ofContainers.error };
  const ofContainerd = runtime.isContainerd
    ? containerdRegistries(image?.spec ?? {}, mirrors)
    : { files: [], problems: [] };
  const own = generatedSpec({ files: ofContainerd.files });
  const files = [{ spec: own }, ...(ofContainers?.machineConfigs ?? [])].flatMap(
    ({ spec }) => (spec.config as IgnitionConfig).storage?.files ?? [],
  );
  const config = generatedMachineConfig({
    ...{ name, pool: metadata.name, annotations, controllerVersion: version },
    spec: { config: { ignition: { version: '3.5.0' }, storage: { files } } },
    owner: image === undefined ? undefined : ownerOf(image),
  });
  return {
    writes: storedConfig(before, config),
    ...{ conflicts: ofContainers?.conflicts ?? [], ignored: ofContainerd.problems },
  };
}

function synced(
  pool: string,
  { containers }: MachineRuntime,
  picture: RegistriesPicture,
): SyncResult | undefined {
  if (containers === undefined) return undefined;
  return syncRegistries({
    ...picture,
    image: picture.image?.spec ?? {},
    releaseImage: picture.releaseImage ?? NO_RELEASE,
    sigstoreVerification: true,
    port: picture.toml,
    pools: [{ name: pool }],
    baseFilesOf: () => containers,
    owner: ownerOf(picture.image),
    controllerVersion: picture.version,
  });
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

function ownerOf(image: RegistriesPicture['image']) {
  const { name = '', uid = '' } = image?.metadata ?? {};
  return { apiVersion: `${CONFIG_GROUP}/v1`, kind: 'Image', name, uid };
}
