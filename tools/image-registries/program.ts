import { ensureOwnProgram } from '../binaries/own-program';

/**
 * The parsers of CRI-O and containerd, which say how they understand files of registries. Throws as
 * `ensureOwnProgram`.
 */
export function ensureImageRegistries(): Promise<string> {
  return ensureOwnProgram({
    folder: 'image-registries',
    // Without the parts of containers/image that need C.
    goTags: 'containers_image_openpgp',
    buildMinutes: 1,
  });
}
