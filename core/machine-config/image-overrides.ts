/** Images that people's MachineConfigs set in place of those of the cluster. */

import { ANNOTATION } from '../names';
import type { Source } from './source';

export const IMAGE_FIELDS = ['osImageURL', 'baseOSExtensionsContainerImage'] as const;
export type ImageField = (typeof IMAGE_FIELDS)[number];

/** What hosts get unless a person's MachineConfig says otherwise; empty = none. */
export type ClusterImages = Readonly<Record<ImageField, string>>;

export interface ImageOverride {
  readonly field: ImageField;
  readonly machineConfig: string;
  readonly image: string;
  /** The image of the cluster; never empty. */
  readonly instead: string;
}

/**
 * The last one in merge order wins. Images of generated MachineConfigs do not count.
 *
 * @param sources - in merge order
 */
export function lastByUser(
  sources: readonly Pick<Source, 'name' | 'machineConfig'>[],
  field: ImageField,
): { readonly machineConfig: string; readonly image: string } | undefined {
  const found = sources.findLast(({ machineConfig: { metadata, spec } }) => {
    const by = metadata.annotations?.[ANNOTATION.GENERATED_BY_CONTROLLER_VERSION];
    return by === undefined && (spec[field] ?? '') !== '';
  });
  const image = found?.machineConfig.spec[field];
  return found === undefined || image === undefined
    ? undefined
    : { machineConfig: found.name, image };
}

/** @param sources - in merge order */
export function imageOverrides(
  sources: readonly Source[],
  cluster: ClusterImages,
): readonly ImageOverride[] {
  return IMAGE_FIELDS.flatMap((field) => {
    const found = lastByUser(sources, field);
    const instead = cluster[field];
    if (found === undefined || instead === '' || found.image === instead) return [];
    return [{ field, ...found, instead }];
  });
}

export function overrideText({ field, machineConfig, image, instead }: ImageOverride): string {
  return `MachineConfig ${machineConfig} sets spec.${field} to ${image}, in place of ${instead} of the cluster`;
}
