/** Image references with a full name: `example.com/a/b:tag@sha256:…`. */

export interface ImageReference {
  /** Host and path, without tag and digest. */
  readonly name: string;
  /** Without its colon; empty = none. */
  readonly tag: string;
  /** With its algorithm; empty = none. */
  readonly digest: string;
}

/** A part of a host. */
export const LABEL_PATTERN = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
export const HOST_PATTERN = `${LABEL_PATTERN}(?:\\.${LABEL_PATTERN})*(?::[0-9]+)?`;
const SEGMENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
export const PATH_PATTERN = `${SEGMENT}(?:/${SEGMENT})*`;
const TAG = '\\w[\\w.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';

const REFERENCE = new RegExp(
  `^(${HOST_PATTERN}/${PATH_PATTERN}|${PATH_PATTERN})(?::(${TAG}))?(?:@(${DIGEST}))?$`,
);
export const LONGEST_NAME = 255;
const DIGEST_LENGTHS: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

/** A reference as it is written, perhaps without a host; undefined for any other text. */
export function parseReference(text: string): ImageReference | undefined {
  const match = REFERENCE.exec(text);
  if (match === null) return undefined;
  const [, name = '', tag = '', digest = ''] = match;
  if (name.length > LONGEST_NAME) return undefined;
  return digest === '' || isDigest(digest) ? { name, tag, digest } : undefined;
}

/**
 * A reference in its full form; undefined for any other text, and for short names such as `nginx`.
 *
 * @see containers/image docker/reference/normalize.go, ParseNamed
 */
export function parseNamed(text: string): ImageReference | undefined {
  const reference = parseReference(text);
  if (reference === undefined) return undefined;
  const { host, path } = splitHost(reference.name);
  // The full form of these names is longer, or another.
  if (host === '' || host === 'index.docker.io') return undefined;
  return host === 'docker.io' && !path.includes('/') ? undefined : reference;
}

/** The host that a name begins with, empty when its first part is none. */
export function splitHost(name: string): { readonly host: string; readonly path: string } {
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(slash, 0));
  const isHost = /[.:]/.test(first) || first === 'localhost';
  return isHost ? { host: first, path: name.slice(slash + 1) } : { host: '', path: name };
}

export function referenceText({ name, tag, digest }: ImageReference): string {
  return `${name}${tag === '' ? '' : `:${tag}`}${digest === '' ? '' : `@${digest}`}`;
}

function isDigest(text: string): boolean {
  const [algorithm = '', hex = ''] = text.split(':');
  return DIGEST_LENGTHS[algorithm] === hex.length && hex === hex.toLowerCase();
}
