/** Compressed where the client accepts it. */

const ENCODINGS = ['zstd', 'gzip', 'identity'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/**
 * Of equals the smallest. `identity` without the header, or when it refuses all.
 *
 * @param accept - the `Accept-Encoding` header
 */
export function chooseEncoding(accept: string | undefined): Encoding {
  if (accept === undefined) return 'identity';
  const qualities = new Map<string, number>();
  for (const entry of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    if (name !== '' && value >= 0 && value <= 1) qualities.set(name, value);
  }
  const others = qualities.get('*') ?? 0;
  let best: Encoding = 'identity';
  let highest = 0;
  for (const encoding of ENCODINGS) {
    // A client that names only compressions accepts plain bytes last.
    const unnamed = encoding === 'identity' ? others || Number.MIN_VALUE : others;
    const quality = qualities.get(encoding) ?? unnamed;
    if (quality > highest) [best, highest] = [encoding, quality];
  }
  return best;
}

export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((entry) => {
    const tag = entry.trim().replace(/^W\//, '');
    return tag === etag || tag === '*';
  });
}
