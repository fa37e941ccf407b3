/** References to OS images: which digest they name, and when two name the same image. */

const DIGEST = /@(sha256:[0-9a-f]{64})$/;

/** The digest that a pull spec names, `sha256:…`; undefined for a tag or a bare name. */
export function imageDigest(reference: string): string | undefined {
  return DIGEST.exec(reference)?.[1];
}

/**
 * Whether two pull specs are the same image: when both have a digest, by digest alone, so that a mirror
 * is the image that it mirrors; else when they are the same text.
 */
export function sameImage(left: string, right: string): boolean {
  const [leftDigest, rightDigest] = [imageDigest(left), imageDigest(right)];
  return leftDigest !== undefined && rightDigest !== undefined
    ? leftDigest === rightDigest
    : left === right;
}
