/** Images of the operating system: every host has to get the same one. */

import { imageDigest } from '../os/images';
import { hasPlaceholder, PLACEHOLDER_PROBLEM } from './admission-placeholders';
import type { Report } from './admission-problem';
import type { MachineConfigSpec } from './types';

export const IMAGE_FIX = 'write registry/name@sha256:<64 hexadecimal digits>';

/** A pull spec: a name before tag and digest, and no blanks. */
const IMAGE = /^[A-Za-z0-9][^\s@]*(@\S*)?$/;

/** Why hosts would refuse the image; an absent one is valid. */
export function imageProblem(image: unknown): string | undefined {
  if (image === undefined || image === '') return undefined;
  if (hasPlaceholder(image)) return PLACEHOLDER_PROBLEM;
  if (typeof image !== 'string' || !IMAGE.test(image)) return 'not the name of an image';
  if (imageDigest(image) !== undefined) return undefined;
  return 'the image has no digest, and a tag may be another image on the next host';
}

export function reportImages(spec: MachineConfigSpec, report: Report): void {
  for (const field of ['osImageURL', 'baseOSExtensionsContainerImage'] as const) {
    const problem = imageProblem(spec[field]);
    if (problem !== undefined) report(`spec.${field}`, problem, IMAGE_FIX);
  }
}
