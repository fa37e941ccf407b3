/**
 * What Slipway writes down in a form of its own carries the version of that form. A process that finds a later one would
 * take it for something else, so whoever reads it refuses it with this sentence.
 *
 * @param found.what - the object and what of it, as the subject of the sentence
 * @param found.remedy - what a person can do
 * @returns undefined when the version is known
 */
export function laterVersion(
  found: { readonly what: string; readonly version: number; readonly remedy: string },
  known: number,
): string | undefined {
  const { what, version, remedy } = found;
  if (version <= known) return undefined;
  return `${what} is of version ${version}, written by a later Slipway, and this one knows up to version ${known}: ${remedy}`;
}
