/** Lists in messages: the first few, and how many more there are. */

const MOST = 3;

/**
 * At most `most` are shown; `total` = the length of the whole list, when only its beginning is
 * given.
 */
interface Few {
  readonly most?: number;
  readonly total?: number;
}

/** Of names: `a, b, c and 2 more`. */
export function fewNames(names: readonly string[], few: Few = {}): string {
  const { shown, more } = split(names, few);
  return [shown.join(', '), ...more].join(' ');
}

/** Of sentences: `a; b; c; and 2 more`. */
export function fewSentences(sentences: readonly string[], few: Few = {}): string {
  return fewLines(sentences, few).join('; ');
}

/** Of lines; the last one counts the others. */
export function fewLines(lines: readonly string[], few: Few = {}): readonly string[] {
  const { shown, more } = split(lines, few);
  return [...shown, ...more];
}

function split(items: readonly string[], { most = MOST, total = items.length }: Few) {
  const shown = items.slice(0, most);
  const more = total - shown.length;
  return { shown, more: more > 0 ? [`and ${more} more`] : [] };
}
