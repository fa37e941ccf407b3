/** Images that the machines of a pool have before anything asks for them: MCO's PinnedImageSets. */

import { createHash } from 'node:crypto';
import type { FieldProblem } from '../field-problem';
import { IMAGE_FIX, imageProblem } from '../machine-config/admission-images';
import type { MachineConfigPool } from '../pool/types';
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

/**
 * The images of all sets that the pool names.
 *
 * @param setNamed - a PinnedImageSet; undefined = there is none
 * @returns with a sentence for each part that no host gets
 */
export function pinnedOfPool(
  pool: MachineConfigPool,
  setNamed: (name: string) => unknown,
): { readonly pinned: PinnedImages; readonly problems: readonly string[] } {
  const { name } = pool.metadata;
  const problems: string[] = [];
  const images = new Set<string>();
  for (const [index, { name: set }] of (pool.spec.pinnedImageSets ?? []).entries()) {
    const stored = setNamed(set);
    if (stored === undefined) {
      const field = `machineconfigpool ${name}: spec.pinnedImageSets[${index}].name`;
      problems.push(`${field}: there is no PinnedImageSet ${set}; make it, or remove the entry`);
    }
    for (const [at, entry] of listAt(stored, 'spec', 'pinnedImages').entries()) {
      const image = textAt(entry, 'name') ?? '';
      const problem = image === '' ? 'is missing' : imageProblem(image);
      if (problem === undefined) images.add(image);
      else
        problems.push(
          `PinnedImageSet ${set}: spec.pinnedImages[${at}].name: ${problem}; ${IMAGE_FIX}`,
        );
    }
  }
  const sorted = [...images].sort();
  if (sorted.length > MOST_IMAGES) {
    const fix = 'name fewer sets';
    problems.push(
      `machineconfigpool ${name}: spec.pinnedImageSets: ${sorted.length} images, and hosts take ${MOST_IMAGES}; ${fix}`,
    );
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
