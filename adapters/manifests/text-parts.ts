/** Splits a file as kubectl does. */

export interface TextPart {
  /** Lines end with `\n` or `\r\n`; offsets are those of the file. */
  readonly text: string;
  readonly offset: number;
  /** Neither: kubectl accepts YAML after one JSON object only. */
  readonly format: 'json' | 'yaml' | 'neither';
}

/** These end a line for go-yaml, but not for the parser here. */
const OTHER_BREAKS = { json: /\r(?!\n)/g, yaml: /\r(?!\n)|\u0085/g };

/** A byte order mark begins a document. */
const MARK_AFTER_SEPARATOR = /\n---[^\n]*\n(?=\ufeff)/g;

/** JSON objects first; YAML may follow. */
export function partsOf(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let offset = 0;
  for (let end = jsonObjectEnd(text, 0); end > offset; end = jsonObjectEnd(text, offset)) {
    parts.push(partOf('json', text.slice(offset, end), offset));
    offset = end;
  }
  const rest = text.slice(offset);
  if (parts.length > 0 && rest.trim() === '') return parts;
  if (parts.length > 1) return [...parts, partOf('neither', rest, offset)];
  // Blanks behind a JSON object are no indentation.
  const blanks = parts.length === 0 ? 0 : (/^[^\S\n]*\n?/.exec(rest)?.[0].length ?? 0);
  return [...parts, ...yamlParts(rest.slice(blanks), offset + blanks)];
}

function yamlParts(text: string, offset: number): readonly TextPart[] {
  const parts: TextPart[] = [];
  let begin = 0;
  for (const { 0: separator, index } of text.matchAll(MARK_AFTER_SEPARATOR)) {
    const end = index + separator.length;
    parts.push(partOf('yaml', text.slice(begin, end), offset + begin));
    begin = end + 1;
  }
  return [...parts, partOf('yaml', text.slice(begin), offset + begin)];
}

function partOf(format: TextPart['format'], text: string, offset: number): TextPart {
  const breaks = format === 'json' ? OTHER_BREAKS.json : OTHER_BREAKS.yaml;
  return { format, text: text.replace(breaks, '\n'), offset };
}

/** The given offset without an object. */
function jsonObjectEnd(text: string, offset: number): number {
  const begin = offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0);
  if (text[begin] !== '{') return offset;
  const end = closingBrace(text, begin);
  return isJson(text.slice(begin, end)) ? end : offset;
}

function closingBrace(text: string, begin: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = begin; at < text.length; at += 1) {
    const char = text[at];
    if (isQuoted && char === '\\') at += 1;
    else if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && char === '{') depth += 1;
    else if (!isQuoted && char === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // kubectl then tries YAML.
    return false;
  }
}
