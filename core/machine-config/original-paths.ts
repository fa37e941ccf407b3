/** Where hosts keep what was at a path before any config had it: MCO's places and names. */

const BASE = '/etc/machine-config-daemon';
const ORIGINALS = `${BASE}/orig`;
const NO_ORIGINALS = `${BASE}/noorig`;

/** All originals and stamps are below these. */
export const ORIGINAL_PLACES: readonly string[] = [ORIGINALS, NO_ORIGINALS];

/** Stands after the name of a path where nothing was: the longest of what hosts add to a name. */
export const NO_ORIGINAL_SUFFIX = '.mcdnoorig';

/** Where the copy of an original is kept. */
export function originalPath(path: string): string {
  return `${ORIGINALS}${path}.mcdorig`;
}

/** Where the stamp is that says there was none. */
export function noOriginalPath(path: string): string {
  return `${NO_ORIGINALS}${path}${NO_ORIGINAL_SUFFIX}`;
}
