/** Images as people name them, pinned to a digest. */

import type { RegistryClient } from '../../adapters/registry';
import { parseNamed, referenceText, type ImageReference } from '../../core/registries/reference';
import { imageDigest } from '../../core/os';
import { cliError, EXIT } from '../exit-codes';

/** @param what - the flag or the object that has it */
export function imageNamed(text: string, what: string): ImageReference {
  const reference = parseNamed(text);
  if (reference?.tag || reference?.digest) return reference;
  const problem =
    reference === undefined ? 'is not the full name of an image' : 'has neither tag nor digest';
  throw cliError(
    EXIT.USAGE,
    `${what}: "${text}" ${problem}; ` +
      'write registry/name@sha256:<64 hexadecimal digits>, or registry/name:tag to have its digest looked up',
  );
}

/** A registry is asked only for a tag. A tag beside a digest is left out: hosts take one of the two. */
export async function pinned(
  registry: Pick<RegistryClient, 'digest'>,
  reference: ImageReference,
  what: string,
): Promise<string> {
  const { name } = reference;
  const digest = reference.digest === '' ? await registry.digest(reference) : reference.digest;
  const text = referenceText({ name, tag: '', digest });
  if (imageDigest(text) !== undefined) return text;
  throw cliError(EXIT.USAGE, `${what}: ${text} has no digest of sha256; hosts take no other`);
}
