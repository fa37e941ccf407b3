/**
 * What Slipway writes down in a form of its own carries the version of that form. A process that finds a later one would
 * take it for something else, so whoever reads it refuses it with this sentence.
 *
 * @param what - the object and what of it, as the subject of the sentence
 * @returns undefined when the version is known
 */
export function laterVersion(what: string, found: number, known: number): string | undefined {
  if (found <= known) return undefined;
  return (
    `${what} is of version ${found}, and this Slipway knows versions up to ${known}: ` +
    'a later Slipway wrote it; run that one again until the update of the node has ended'
  );
}
