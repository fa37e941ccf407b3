/** References to OS images: their digests and their equality. */

const DIGEST = /@(sha256:[0-9a-f]{64})$/;

/** The digest of a pull spec, `sha256:…`; undefined for a tag or a bare name. */
export function imageDigest(reference: string): string | undefined {
  return DIGEST.exec(reference)?.[1];
}

/**
 * Whether two pull specs name the same image: by digest when both have one, so that a mirror equals
 * its source; otherwise by text.
 */
export function sameImage(left: string, right: string): boolean {
  const [leftDigest, rightDigest] = [imageDigest(left), imageDigest(right)];
  return leftDigest !== undefined && rightDigest !== undefined
    ? leftDigest === rightDigest
    : left === right;
}
