/**
 * Merges MachineConfigs by name, worker configs first, so that a custom pool's config beats a
 * worker's.
 *
 * @see MCO pkg/controller/common/helpers.go (7ff337a4), MergeMachineConfigs
 */

import { fail } from '../errors';
import {
  EMPTY_IGNITION,
  encodeIgnition,
  listOf,
  mergeIgnition,
  structOf,
  without,
  type IgnitionObject,
} from '../ignition';
import { LABEL } from '../names';
import { lastByUser } from './image-overrides';
import type { Source } from './source';
import type { IgnitionConfig, MachineConfigSpec, RenderedSpec } from './types';
import { KernelType } from './validate';

interface BaseImages {
  readonly osImage: string;
  readonly extensionsImage: string;
  /** Name of the pool's image stream; user images are then refused. */
  readonly stream?: string;
}

interface MergeOptions extends BaseImages {
  /**
   * Changes or refuses the merged config before all other checks of the merge. Absent = MCO's
   * answer.
   */
  readonly correct?: (config: IgnitionConfig) => IgnitionConfig;
}

/**
 * Merge order: byte order of names, but role `worker` before all others.
 *
 * @throws InvalidMachineConfig for a MachineConfig without labels, with MCO's words
 */
export function inMergeOrder<S extends Pick<Source, 'name' | 'machineConfig'>>(
  sources: readonly S[],
): readonly S[] {
  const isWorker = (source: S): boolean => {
    const { labels } = source.machineConfig.metadata;
    if (labels === undefined) {
      throw fail('InvalidMachineConfig', `Cannot find label in MachineConfig ${source.name}`, {
        machineConfig: source.name,
        field: 'metadata.labels',
      });
    }
    return labels[LABEL.ROLE] === 'worker';
  };
  const ranked = sources.map((source) => ({ source, rank: isWorker(source) ? 0 : 1 }));
  return ranked
    .sort((a, b) => a.rank - b.rank || compareNames(a.source.name, b.source.name))
    .map(({ source }) => source);
}

function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * The merged spec.
 *
 * @param sources - in merge order, at least one
 * @throws InvalidMachineConfig, InvalidIgnition with MCO's words
 */
export function mergeSources(sources: readonly Source[], images: MergeOptions): RenderedSpec {
  const merged = mergeConfigs(sources);
  const config = images.correct?.(merged) ?? merged;
  const specs = sources.map((source) => source.machineConfig.spec);
  const kernelType = mergeKernelTypes(specs);
  const extensions = specs.flatMap((spec) => spec.extensions ?? []);
  if (kernelType !== KernelType.DEFAULT && extensions.includes('kernel-devel')) {
    throw fail(
      'InvalidMachineConfig',
      `installing kernel-devel extension is not supported with kernelType: ${kernelType}`,
    );
  }
  const osImage = lastByUser(sources, 'osImageURL')?.image;
  if (osImage !== undefined && images.stream !== undefined) {
    throw fail(
      'InvalidMachineConfig',
      'cannot override MachineConfig osImageURL and set MachineConfigPool spec.osImageStream.name simultaneously',
    );
  }
  const extensionsImage = lastByUser(sources, 'baseOSExtensionsContainerImage')?.image;
  return {
    osImageURL: osImage ?? images.osImage,
    baseOSExtensionsContainerImage: extensionsImage ?? images.extensionsImage,
    config,
    kernelArguments: specs.flatMap((spec) => spec.kernelArguments ?? []),
    extensions,
    fips: specs.some((spec) => spec.fips === true),
    kernelType,
  };
}

/** The last kernel type other than the default; a later explicit default does not undo it. */
function mergeKernelTypes(specs: readonly MachineConfigSpec[]): string {
  return specs.findLast(isSpecialKernel)?.kernelType ?? 'default';
}

const SPECIAL: readonly string[] = [KernelType.REALTIME, KernelType.PAGES_64K];

export function isSpecialKernel({ kernelType = '' }: MachineConfigSpec): boolean {
  return SPECIAL.includes(kernelType);
}

function mergeConfigs(sources: readonly Source[]): IgnitionConfig {
  const [first, ...rest] = sources.map((source) => source.ignition());
  const children = rest.filter((config) => config !== undefined);
  const base = first ?? EMPTY_IGNITION;
  const merged = mergeIgnition([base, ...children.map(withExplicitCompression)]);
  const finished = mapFiles(merged, (file) => {
    const plain = children.length > 0 ? withoutEmptyCompression(file) : file;
    return { ...plain, overwrite: plain['overwrite'] ?? true };
  });
  return encodeIgnition(finished) as unknown as IgnitionConfig;
}

/** A plain file must not inherit the compression of the file it replaces. */
function withExplicitCompression(config: IgnitionObject): IgnitionObject {
  return mapFiles(config, (file) => {
    const contents = structOf(file['contents']);
    return { ...file, contents: { ...contents, compression: contents['compression'] ?? '' } };
  });
}

function withoutEmptyCompression(file: IgnitionObject): IgnitionObject {
  const contents = structOf(file['contents']);
  if (contents['compression'] !== '') return file;
  return { ...file, contents: without(contents, 'compression') };
}

function mapFiles(
  config: IgnitionObject,
  change: (file: IgnitionObject) => IgnitionObject,
): IgnitionObject {
  const storage = structOf(config['storage']);
  const files = listOf(storage['files']);
  if (files.length === 0) return config;
  return { ...config, storage: { ...storage, files: files.map(change) } };
}
