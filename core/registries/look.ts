/** One look at everything that says where machines may pull images from. */

import { machineRuntime, type MachineRuntime } from '../container-runtime/machine-runtime';
import { messageOf } from '../errors';
import type { FieldProblem } from '../field-problem';
import {
  baseName,
  generatedMachineConfig,
  generatedSpec,
  storedConfig,
  type ConfigWrite,
} from '../generated-configs';
import type { IgnitionConfig, MachineConfig } from '../machine-config/types';
import { ANNOTATION, BUILT_IN_POOLS, CONFIG_GROUP, LABEL } from '../names';
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

/** In the annotation that tells Slipway's MachineConfigs from those of another controller. */
const FROM = 'registries';

export interface RegistriesPicture {
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: { get(name: string): MachineConfig | undefined };
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
  const pools = picture.pools.filter(hasOwnRegistries).map(({ metadata }) => metadata.name);
  if (!isAsked(picture))
    return { ...NOTHING, writes: pools.flatMap((pool) => removed(pool, picture)) };
  const made = pools.map((pool) => madeFor(pool, picture));
  const refused = [...new Set(made.flatMap((one) => ('problem' in one ? [one.problem] : [])))];
  const [first] = made.flatMap((one) => ('conflicts' in one ? [one] : []));
  const conflicts = first?.conflicts ?? [];
  const good = made.flatMap((one) => ('config' in one ? [one] : []));
  return {
    ...{ refused, conflicts },
    writes: good.flatMap(({ config }) =>
      storedConfig(picture.machineConfigs.get(config.metadata.name), config),
    ),
    // What is refused everywhere is said once, as that.
    ignored:
      good.length === 0 ? [] : [...problemsOf(picture), ...good.flatMap((one) => one.ignored)],
  };
}

const NOTHING: RegistriesLook = { writes: [], refused: [], conflicts: [], ignored: [] };

/**
 * Custom pools have those of worker, by its MachineConfig.
 *
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_controller.go (7ff337a4)
 */
function hasOwnRegistries({ metadata: { name, labels } }: MachineConfigPool): boolean {
  const isBuiltIn = labels !== undefined && Object.hasOwn(labels, LABEL.BUILT_IN_POOL);
  return isBuiltIn || BUILT_IN_POOLS.includes(name);
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

/** What another controller generated stays. */
function removed(pool: string, { machineConfigs }: RegistriesPicture): readonly ConfigWrite[] {
  const name = baseName('registries', pool);
  const annotations = machineConfigs.get(name)?.metadata.annotations;
  const isOwn = annotations?.[ANNOTATION.GENERATED_FROM] === FROM;
  return isOwn ? [{ do: 'remove', name }] : [];
}

type Made =
  | { readonly problem: string }
  | {
      readonly config: MachineConfig;
      readonly conflicts: SyncResult['conflicts'];
      readonly ignored: readonly FieldProblem[];
    };

function madeFor(pool: string, picture: RegistriesPicture): Made {
  const { machineConfigs, gunzip } = picture;
  const ports = { gunzip, configNamed: (name: string) => machineConfigs.get(name) };
  const runtime = machineRuntime(pool, ports);
  if ('problem' in runtime) return runtime;
  try {
    return together(pool, runtime, picture);
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** @throws `InvalidMachineConfig` in MCO's words */
function together(pool: string, runtime: MachineRuntime, picture: RegistriesPicture): Made {
  const { image, mirrors, version } = picture;
  const ofContainers = synced(pool, runtime, picture);
  if (ofContainers?.error !== undefined) return { problem: ofContainers.error };
  const ofContainerd = runtime.isContainerd
    ? containerdRegistries(image?.spec ?? {}, mirrors)
    : { files: [], problems: [] };
  const own = generatedSpec({ files: ofContainerd.files });
  const files = [{ spec: own }, ...(ofContainers?.machineConfigs ?? [])].flatMap(
    ({ spec }) => (spec.config as IgnitionConfig).storage?.files ?? [],
  );
  const config = generatedMachineConfig({
    ...{ name: baseName('registries', pool), pool, controllerVersion: version },
    annotations: { [ANNOTATION.GENERATED_FROM]: FROM },
    spec: { config: { ignition: { version: '3.5.0' }, storage: { files } } },
    owner: image === undefined ? undefined : ownerOf(image),
  });
  return { config, conflicts: ofContainers?.conflicts ?? [], ignored: ofContainerd.problems };
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
