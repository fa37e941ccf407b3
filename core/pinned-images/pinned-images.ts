/** Images that the machines of a pool have before anything asks for them: MCO's PinnedImageSets. */

import { createHash } from 'node:crypto';
import type { FieldProblem } from '../field-problem';
import { IMAGE_FIX, imageProblem } from '../machine-config/admission-images';
import type { LabelSelector, ObjectMeta } from '../object-meta';
import type { MachineConfigPool } from '../pool/types';
import { compileSelector, type Labels } from '../selectors';
import { listAt, textAt } from '../values-at';

/** As the server gives it to a host. */
export interface PinnedImages {
  /** The pool of the host. */
  readonly pool: string;
  /** By digest, sorted, each once. */
  readonly images: readonly string[];
  /** Hex: SHA-256 of the images. */
  readonly digest: string;
}

/** As many as the sets of a pool may have together; MCO's limit for one set. */
export const MOST_IMAGES = 500;

/** A stored PinnedImageSet. */
export interface PinnedImageSet {
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
}

/**
 * Those that the pool names, and those whose labels its selector of MachineConfigs matches.
 *
 * @see MCO pkg/controller/pinnedimageset: it writes the matching ones into the pool
 */
export function setsOfPool(
  { spec }: MachineConfigPool,
  sets: readonly PinnedImageSet[],
): readonly PinnedImageSet[] {
  const names = (spec.pinnedImageSets ?? []).map(({ name }) => name);
  const matches = selectorOf(spec.machineConfigSelector);
  return sets.filter(({ metadata }) => names.includes(metadata.name) || matches(metadata.labels));
}

/** Or names some that are not there. */
export function hasSets(pool: MachineConfigPool, sets: readonly PinnedImageSet[]): boolean {
  return (pool.spec.pinnedImageSets ?? []).length > 0 || setsOfPool(pool, sets).length > 0;
}

/** As with MachineConfigs, an empty one matches nothing. */
function selectorOf(selector: LabelSelector | undefined): (labels?: Labels) => boolean {
  try {
    const compiled = compileSelector(selector);
    return (labels) => !compiled.empty && compiled.matches(labels);
  } catch {
    // The render of the pool reports it.
    return () => false;
  }
}

/** @returns with a sentence for each part that no host gets */
export function pinnedOfPool(
  pool: MachineConfigPool,
  sets: readonly PinnedImageSet[],
): { readonly pinned: PinnedImages; readonly problems: readonly string[] } {
  const { name } = pool.metadata;
  const problems = (pool.spec.pinnedImageSets ?? []).flatMap(({ name: set }, index) => {
    const field = `machineconfigpool ${name}: spec.pinnedImageSets[${index}].name`;
    const isThere = sets.some(({ metadata }) => metadata.name === set);
    return isThere
      ? []
      : [`${field}: there is no PinnedImageSet ${set}; make it, or remove the entry`];
  });
  const images = new Set<string>();
  for (const { metadata, spec } of setsOfPool(pool, sets)) {
    for (const [at, entry] of listAt(spec, 'pinnedImages').entries()) {
      const image = textAt(entry, 'name') ?? '';
      const problem = image === '' ? 'is missing' : imageProblem(image);
      const field = `PinnedImageSet ${metadata.name}: spec.pinnedImages[${at}].name`;
      if (problem === undefined) images.add(image);
      else problems.push(`${field}: ${problem}; ${IMAGE_FIX}`);
    }
  }
  const sorted = [...images].sort();
  if (sorted.length > MOST_IMAGES) {
    const found = `its PinnedImageSets have ${sorted.length} images, and hosts take ${MOST_IMAGES}`;
    problems.push(`machineconfigpool ${name}: ${found}; give it fewer sets`);
  }
  return { pinned: sealedImages(name, sorted.slice(0, MOST_IMAGES)), problems };
}

/** Images of a set that no host would take. @param spec - of its shape */
export function pinnedRefusals(spec: unknown): readonly FieldProblem[] {
  return listAt(spec, 'pinnedImages').flatMap((entry, index) => {
    const problem = imageProblem(textAt(entry, 'name'));
    const path = ['spec', 'pinnedImages', index, 'name'];
    return problem === undefined ? [] : [{ path, problem, fix: IMAGE_FIX }];
  });
}

export function sealedImages(pool: string, images: readonly string[]): PinnedImages {
  const digest = createHash('sha256').update(JSON.stringify(images)).digest('hex');
  return { pool, images, digest };
}
