/**
 * MachineConfigs that controllers of another cluster or version generated, as an export of a cluster of MCO
 * has them. MCO waits until its own controllers have made them anew; here nobody makes any, so they count as they are.
 */

import { fewNames } from '../few';
import { ANNOTATION } from '../names';
import type { MachineConfig } from './types';

const GENERATED_BY = ANNOTATION.GENERATED_BY_CONTROLLER_VERSION;

/** An Event has room for these. */
const NAMES_TOLD = 20;

/** Those of them, in their order. */
export function generatedElsewhere(
  sources: readonly MachineConfig[],
  version: string,
): readonly MachineConfig[] {
  return sources.filter((source) => isForeign(source, version));
}

/** All of them as if this version had generated those: still generated ones, whose images do not count. */
export function asOwnGenerations(
  sources: readonly MachineConfig[],
  version: string,
): readonly MachineConfig[] {
  return sources.map((source) => {
    if (!isForeign(source, version)) return source;
    const annotations = { ...source.metadata.annotations, [GENERATED_BY]: version };
    return { ...source, metadata: { ...source.metadata, annotations } };
  });
}

/** What is said of them: an empty text when there are none. */
export function generatedElsewhereText(sources: readonly MachineConfig[], version: string): string {
  const names = generatedElsewhere(sources, version).map(({ metadata }) => metadata.name);
  if (names.length === 0) return '';
  const what = names.length === 1 ? 'MachineConfig' : 'MachineConfigs';
  return `other controllers generated ${what} ${fewNames(names, { most: NAMES_TOLD })}; rendered as they are, and nobody here updates them`;
}

function isForeign({ metadata }: MachineConfig, version: string): boolean {
  const by = metadata.annotations?.[GENERATED_BY] ?? '';
  return by !== '' && by !== version;
}
