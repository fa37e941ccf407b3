/**
 * Renders a pool's config from its MachineConfigs: name, spec and refusals are those of MCO.
 *
 * @see MCO pkg/controller/render/render_controller.go (7ff337a4), generateRenderedMachineConfig
 */

import { goJson } from '../encoding/go-json';
import { fail } from '../errors';
import type { RenderPorts } from '../ignition';
import { ANNOTATION, MCO_GROUP, MCO_VERSION } from '../names';
import { renderedName, specYaml } from './hash';
import { imageOverrides, type ImageOverride } from './image-overrides';
import { MAX_OBJECT_BYTES } from './limits';
import { inMergeOrder, mergeSources } from './merge';
import { refuseUnreconcilable, type ignitionReason, type StorageOverride } from './reconcilable';
import { Source } from './source';
import type { IgnitionConfig, MachineConfig, RenderedSpec } from './types';
import { validateMachineConfig } from './validate';

export interface RenderControllerConfig {
  readonly baseOSContainerImage: string;
  readonly baseOSExtensionsContainerImage: string;
  /** Release of the cluster, for the annotation. */
  readonly releaseVersion: string;
  /** Version of the controllers: MachineConfigs that another version generated are refused. */
  readonly controllerVersion: string;
}

export interface RenderInput {
  readonly pool: string;
  /** The MachineConfigs that the pool selects, in any order. */
  readonly sources: readonly MachineConfig[];
  readonly controllerConfig: RenderControllerConfig;
  /** The image stream of the pool, which decides both images. */
  readonly osImageStream?: {
    /** Absent = the pool inherits it, so that an image of a MachineConfig wins. */
    readonly name?: string;
    readonly osImage: string;
    readonly extensionsImage: string;
  };
  /** The current rendered config of the pool; absent = a fresh pool. */
  readonly current?: MachineConfig;
  readonly storageOverrides?: readonly StorageOverride[];
  /** Absent = MCO's answers. */
  readonly corrections?: RenderCorrections;
  readonly ports: RenderPorts;
}

/** Deviations from MCO; `renderForHosts` has those of the product. */
interface RenderCorrections {
  /** Changes the merged config before it is named, or refuses it. */
  readonly merged: (config: IgnitionConfig, sources: readonly Source[]) => IgnitionConfig;
  /** Replaces `ignitionReason`: why a running machine cannot take the change. */
  readonly reason: typeof ignitionReason;
}

export interface RenderedMachineConfig {
  readonly name: string;
  readonly spec: RenderedSpec;
  readonly annotations: Readonly<Record<string, string>>;
  readonly specYaml: string;
  /** Bytes of the object as JSON. */
  readonly sizeBytes: number;
  /** The size is above 80 % of what the API server stores. */
  readonly nearlyTooLarge: boolean;
  /** Names of the MachineConfigs in merge order. */
  readonly mergeOrder: readonly string[];
  /** Where a person's MachineConfig wins over an image of the cluster. */
  readonly imageOverrides: readonly ImageOverride[];
}

/**
 * @throws NoMachineConfigs, InvalidMachineConfig, InvalidIgnition, Unreconcilable, ConfigTooLarge;
 * the texts of the second to the fourth are MCO's
 */
export function renderMachineConfig(input: RenderInput): RenderedMachineConfig {
  const { pool, ports, controllerConfig } = input;
  if (input.sources.length === 0) {
    throw fail('NoMachineConfigs', `the selector of pool ${pool} matches no MachineConfig`);
  }
  refuseForeignGenerations(input);
  const sources = input.sources.map((machineConfig) => new Source(machineConfig, ports));
  for (const source of sources) validateMachineConfig(source);
  const ordered = inMergeOrder(sources);
  const { osImageStream: stream, corrections } = input;
  const osImage = stream?.osImage ?? controllerConfig.baseOSContainerImage;
  const extensionsImage =
    stream?.extensionsImage ?? controllerConfig.baseOSExtensionsContainerImage;
  const spec = mergeSources(ordered, {
    ...(corrections && { correct: (config) => corrections.merged(config, ordered) }),
    ...{ osImage, extensionsImage },
    ...(stream?.name === undefined ? {} : { stream: stream.name }),
  });
  const yaml = specYaml(spec);
  const name = renderedName(pool, yaml);
  const annotations = annotationsFor(spec, osImage, controllerConfig);
  const rendered = { metadata: { name, annotations }, spec };
  if (input.current !== undefined) {
    refuseUnreconcilable(
      input.current,
      rendered,
      ordered.map((source) => source.machineConfig),
      {
        ports,
        storageOverrides: input.storageOverrides ?? [],
        ...(corrections && { reason: corrections.reason }),
      },
    );
  }
  const sizeBytes = sizeOf(rendered, pool);
  return {
    name,
    spec,
    annotations,
    specYaml: yaml,
    sizeBytes,
    nearlyTooLarge: sizeBytes > MAX_OBJECT_BYTES * 0.8,
    mergeOrder: ordered.map((source) => source.name),
    imageOverrides: imageOverrides(ordered, {
      osImageURL: osImage,
      baseOSExtensionsContainerImage: extensionsImage,
    }),
  };
}

/**
 * Refuses MachineConfigs that another version generated, as during an upgrade of the controllers.
 */
function refuseForeignGenerations(input: RenderInput): void {
  const own = input.controllerConfig.controllerVersion;
  for (const { metadata } of input.sources) {
    const by = metadata.annotations?.[ANNOTATION.GENERATED_BY_CONTROLLER_VERSION];
    if (by === undefined || by === '' || by === own) continue;
    throw fail(
      'InvalidMachineConfig',
      `Ignoring MC ${metadata.name} generated by older version ${by} (my version: ${own})`,
    );
  }
}

function annotationsFor(
  spec: RenderedSpec,
  image: string,
  controllerConfig: RenderControllerConfig,
): Record<string, string> {
  return {
    [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: controllerConfig.controllerVersion,
    [ANNOTATION.RELEASE_IMAGE_VERSION]: controllerConfig.releaseVersion,
    ...(spec.osImageURL === image ? {} : { [ANNOTATION.OS_IMAGE_URL_OVERRIDDEN]: 'true' }),
  };
}

function sizeOf(rendered: MachineConfig, pool: string): number {
  const kind = 'MachineConfig';
  const apiVersion = `${MCO_GROUP}/${MCO_VERSION}`;
  const size = Buffer.byteLength(goJson({ apiVersion, kind, ...rendered }));
  if (size <= MAX_OBJECT_BYTES) return size;
  throw fail(
    'ConfigTooLarge',
    `the rendered config of pool ${pool} has ${size} bytes, and the API server stores at most ${MAX_OBJECT_BYTES}`,
    { sizeBytes: size, maxBytes: MAX_OBJECT_BYTES },
  );
}
