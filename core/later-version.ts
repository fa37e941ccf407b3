/**
 * Slipway's own forms, the journal of a host and the annotation `slipway.dev/update-run`, carry a version. In a later
 * one the same fields may mean something else, so each reader refuses it with this sentence.
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
  return `${what} is of version ${version}, written by a later Slipway, and this one knows version ${known} at most: ${remedy}`;
}
