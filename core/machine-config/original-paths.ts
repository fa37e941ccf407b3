/** MCO's places for copies of files from before the first config. */

const BASE = '/etc/machine-config-daemon';
const ORIGINALS = `${BASE}/orig`;
const NO_ORIGINALS = `${BASE}/noorig`;

export const ORIGINAL_PLACES: readonly string[] = [ORIGINALS, NO_ORIGINALS];

/** Suffix of a stamp for a path where nothing was: the longest suffix that hosts add to a name. */
export const NO_ORIGINAL_SUFFIX = '.mcdnoorig';

export function originalPath(path: string): string {
  return `${ORIGINALS}${path}.mcdorig`;
}

export function noOriginalPath(path: string): string {
  return `${NO_ORIGINALS}${path}${NO_ORIGINAL_SUFFIX}`;
}
