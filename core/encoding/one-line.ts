/** Texts of people and machines where one short line has room. */

/** How long a shortened text may be. */
export interface Room {
  /** UTF-16 units. */
  readonly characters: number;
  /** Of the text as JSON in UTF-8, quotes and escapes included. */
  readonly jsonBytes: number;
}

/**
 * The text on one line: white space and control characters become one space, at the ends none, and
 * half a character becomes U+FFFD.
 */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim()
    .replace(/\p{Cs}/gu, '\ufffd');
}

/** One line of the text, cut between two characters and ended with `…` when there is more than room for. */
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

/** Workflows run this, and have no Buffer. JSON holds no half character, which would throw here. */
function utf8Bytes(json: string): number {
  return encodeURIComponent(json).replace(/%../g, '%').length;
}

/** At most so many UTF-16 units from the beginning, without half a character at the end. */
export function cut(text: string, limit: number): string {
  return text.slice(0, limit).replace(/\p{Cs}$/u, '');
}
