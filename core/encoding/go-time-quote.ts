/** The quotes of package time: bytes outside ASCII as `\xNN`. */
export function goTimeQuote(text: string): string {
  const body = [...text].map((character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    if (/^[ -\x7f]$/.test(character)) return character;
    return [...Buffer.from(character)]
      .map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)
      .join('');
  });
  return `"${body.join('')}"`;
}
