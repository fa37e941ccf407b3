/** Shortens texts to one line. */

interface Room {
  /** UTF-16 units. */
  readonly characters: number;
  /** Of the text as JSON in UTF-8, with quotes and escapes. */
  readonly jsonBytes: number;
}

/**
 * Replaces white space and control characters by one space, trims, and replaces half characters by
 * U+FFFD.
 */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim()
    .replace(/\p{Cs}/gu, '\ufffd');
}

/**
 * One line of the text, cut between two characters and ended with `…` when it exceeds the limits.
 */
export function shortLine(text: string, room: Room): string {
  const line = oneLine(text);
  if (fits(line, room)) return line;
  let kept = '';
  for (const character of line) {
    if (!fits(`${kept}${character}…`, room)) break;
    kept += character;
  }
  return `${kept}…`;
}

function fits(line: string, { characters, jsonBytes }: Room): boolean {
  return line.length <= characters && utf8Bytes(JSON.stringify(line)) <= jsonBytes;
}

/** Workflows run this, and have no Buffer. */
function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** At most so many UTF-16 units from the beginning, without half a character at the end. */
export function cut(text: string, limit: number): string {
  return text.slice(0, limit).replace(/\p{Cs}$/u, '');
}
