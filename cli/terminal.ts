/** Data on standard output, prose on standard error. */

import { stripVTControlCharacters, styleText } from 'node:util';

interface Sink {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

export interface Terminal {
  readonly out: Sink;
  readonly err: Sink;
  /** `out` takes ANSI colours and redrawing. */
  readonly live: boolean;
  readonly style: Style;
}

const FORMATS = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const;

export type Style = Readonly<Record<(typeof FORMATS)[number], (text: string) => string>>;

/** Colours, or functions that return the text unchanged. */
export function makeStyle(color: boolean): Style {
  const paint = (format: (typeof FORMATS)[number]) => (text: string) =>
    color && text !== '' ? styleText(format, text, { validateStream: false }) : text;
  return Object.fromEntries(FORMATS.map((format) => [format, paint(format)])) as Style;
}

/**
 * Not without a terminal, with `--no-color`, `NO_COLOR` (any non-empty value: https://no-color.org)
 * or `TERM=dumb`.
 */
export function openTerminal(
  sinks: { readonly out: Sink; readonly err: Sink },
  options: { readonly color: boolean; readonly env: Readonly<Record<string, string | undefined>> },
): Terminal {
  const noColor = (options.env['NO_COLOR'] ?? '') !== '' || options.env['TERM'] === 'dumb';
  const tty = sinks.out.isTTY === true;
  return {
    ...sinks,
    live: tty && options.env['TERM'] !== 'dumb',
    style: makeStyle(tty && options.color && !noColor),
  };
}

// eslint-disable-next-line no-control-regex -- the escape character is part of what is looked for
const ANSI_PARTS = /(\u001B\[[0-9;]*m)/;

/** The columns of a text without its colours. */
export function visibleLength(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

/** Colours end at the cut. */
export function truncate(text: string, width: number): string {
  if (width <= 0 || visibleLength(text) <= width) return text;
  let visible = 0;
  let cut = '';
  let reset = '';
  for (const part of text.split(ANSI_PARTS)) {
    if (part.startsWith('\u001B[')) {
      cut += part;
      reset = '\u001B[0m';
      continue;
    }
    for (const character of part) {
      if (visible === width - 1) return `${cut}…${reset}`;
      cut += character;
      visible += 1;
    }
  }
  return cut;
}
