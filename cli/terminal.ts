/** Where and how the CLI writes: data on standard output, prose on standard error. */

/** A stream that knows whether it is a terminal. */
export interface Sink {
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

export type Style = Readonly<
  Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'cyan', (text: string) => string>
>;

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const;

/** Colours, or functions that return the text unchanged. */
export function makeStyle(color: boolean): Style {
  const paint = (code: number) => (text: string) =>
    color && text !== '' ? `\u001B[${code}m${text}\u001B[0m` : text;
  return {
    bold: paint(CODES.bold),
    dim: paint(CODES.dim),
    red: paint(CODES.red),
    green: paint(CODES.green),
    yellow: paint(CODES.yellow),
    blue: paint(CODES.blue),
    cyan: paint(CODES.cyan),
  };
}

/**
 * Colours only on a terminal, without `--no-color`, without `NO_COLOR` (any non-empty value:
 * https://no-color.org) and not with `TERM=dumb`.
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

// The expression matches the escape character.
/* eslint-disable no-control-regex */
const ANSI = /\u001B\[[0-9;]*m/g;
const ANSI_PARTS = /(\u001B\[[0-9;]*m)/;
/* eslint-enable no-control-regex */

/** Columns of a text without its colours. */
export function visibleLength(text: string): number {
  return [...text.replace(ANSI, '')].length;
}

/** Cuts a text to `width` columns with an ellipsis; colours end at the cut. */
export function truncate(text: string, width: number): string {
  if (width <= 0 || visibleLength(text) <= width) return text;
  let visible = 0;
  let cut = '';
  let colored = false;
  for (const part of text.split(ANSI_PARTS)) {
    if (part.startsWith('\u001B[')) {
      cut += part;
      colored = part !== '\u001B[0m';
      continue;
    }
    for (const character of part) {
      if (visible === width - 1) return `${cut}…${colored ? '\u001B[0m' : ''}`;
      cut += character;
      visible += 1;
    }
  }
  return cut;
}
