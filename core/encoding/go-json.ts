/** Go's encoder writes these as `\\uXXXX`, so that JSON is safe inside HTML and JavaScript. */
const ESCAPED = /[<>&\u2028\u2029]/;
const EVERY_ESCAPED = /[<>&\u2028\u2029]/g;

/** JSON text as Go's encoder writes it: compact, with `<`, `>`, `&` and line separators escaped. */
export function goJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!ESCAPED.test(text)) return text;
  return text.replace(
    EVERY_ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
