/**
 * The template language: Liquid without what reads files, writes variables or prints anything but
 * the given values. It is interpreted; nothing is evaluated as JavaScript.
 */

import { Liquid, type Template } from 'liquidjs';
import { escaped, type FillInput, type Filled, type TextKind } from '../../core/templates';

const TAGS = ['if', 'unless', 'case', 'comment', 'raw', '#'];
const FILTERS = ['append', 'default', 'downcase', 'prepend', 'replace', 'strip', 'upcase'];

class RefusedValue extends Error {}

const ENGINES: Readonly<Record<TextKind, Liquid>> = {
  unit: engineFor('unit'),
  text: engineFor('text'),
  data: engineFor('data'),
};

function engineFor(kind: TextKind): Liquid {
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    // A condition may ask for a value that is not known.
    lenientIf: true,
    greedy: false,
    outputEscape: (value: unknown) => escapedOutput(kind, value),
  });
  keepOnly(engine.tags, TAGS);
  keepOnly(engine.filters, FILTERS);
  return engine;
}

function keepOnly(named: Record<string, unknown>, kept: readonly string[]): void {
  for (const name of Object.keys(named)) if (!kept.includes(name)) delete named[name];
}

function escapedOutput(kind: TextKind, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw new RefusedValue('no text');
  }
  const result = escaped(kind, String(value));
  if ('refused' in result) throw new RefusedValue(result.refused);
  return result.text;
}

/** A line of its own. */
const LONE_TAG = /^([ \t]*)\{%(?!-)((?:(?!%\}).)*?)(?<!-)%\}([ \t]*)$/gm;

/** A line that holds nothing but a tag leaves no empty line. */
export function fillTemplate({ text, kind, names, values }: FillInput): Filled {
  const engine = ENGINES[kind];
  try {
    const template = engine.parse(text.replace(LONE_TAG, '$1{%-$2-%}$3'));
    return unknownName(engine, template, names) ?? { text: textOf(engine, template, values) };
  } catch (error) {
    return failureOf(error);
  }
}

function textOf(engine: Liquid, template: Template[], values: FillInput['values']): string {
  const text: unknown = engine.renderSync(template, values);
  return String(text);
}

/** Also where a condition hides it today. */
function unknownName(
  engine: Liquid,
  template: Template[],
  names: ReadonlySet<string>,
): Filled | undefined {
  const { globals } = engine.analyzeSync(template, { partials: false });
  const found = Object.entries(globals).find(([name]) => !names.has(name));
  if (found === undefined) return undefined;
  const [unknown, [use]] = found;
  return { row: use?.location.row ?? 1, unknown };
}

/** As much as is read of an error of the library. */
interface LanguageError extends Error {
  readonly token?: { getPosition(): number[]; getText(): string };
  readonly originalError?: Error & { readonly variableName?: string };
}

/** @throws what is no error of the library */
function failureOf(error: unknown): Filled {
  if (!(error instanceof Error)) throw error;
  const { token, originalError } = error as LanguageError;
  if (token === undefined) throw error;
  const [row = 1] = token.getPosition();
  if (originalError instanceof RefusedValue) {
    const value = /[A-Za-z]\w*/.exec(token.getText())?.[0] ?? '';
    return { row, refused: originalError.message, value };
  }
  if (originalError?.variableName !== undefined)
    return { row, missing: originalError.variableName };
  const [problem = ''] = error.message.split(', line:');
  return { row, problem };
}
