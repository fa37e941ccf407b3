/**
 * Base 64 with the standard alphabet, as strict as Go's StdEncoding: line breaks are skipped, everything
 * else that does not belong is refused. Node's own decoder skips it.
 *
 * @returns the bytes, or the error in Go's words (no exception: callers report it with their own context)
 */
export function decodeBase64(
  text: string,
): { readonly bytes: Uint8Array } | { readonly error: string } {
  const plain = text.replace(/[\r\n]+/g, '');
  if (plain.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(plain)) {
    return { bytes: Buffer.from(plain, 'base64') };
  }
  return { error: `illegal base64 data at input byte ${illegalAt(text)}` };
}

/** Where Go's decoder gives up. */
function illegalAt(text: string): number {
  const at = text.search(/[^A-Za-z0-9+/\r\n]/);
  const length = at < 0 ? text.length : at;
  const loose = text.slice(0, length).replace(/[\r\n]+/g, '').length % 4;
  if (at < 0) return length - loose;
  if (loose < 2) return at;
  const padding = loose === 2 ? /^=[\r\n]*(=[\r\n]*)?/ : /^=[\r\n]*/;
  const [all, second] = padding.exec(text.slice(at)) ?? [''];
  const end = at + all.length;
  const lacksSecond = all !== '' && loose === 2 && second === undefined;
  return lacksSecond && end < text.length ? end - 1 : end;
}
