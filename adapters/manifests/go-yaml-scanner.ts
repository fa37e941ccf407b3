/**
 * What the scanner of go-yaml v2 refuses, with which kubectl reads, and the parser here takes: tabs
 * where the indentation counts, some escapes, directives, and documents that nothing begins.
 */

import { CST, Lexer } from 'yaml';

export interface ScannedProblem {
  readonly offset: number;
  readonly problem: string;
  readonly fix: string;
}

type Lexeme = CST.TokenType | 'text';

/** kubectl cuts a file at them before it reads anything as YAML. */
const SEPARATOR_WITH_TEXT = /^---[ \t]*[^\s#]/gm;

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[^])/g;

/** Finds them in a text of YAML, which may hold several documents. */
export function scanAsGoYaml(text: string): readonly ScannedProblem[] {
  const scanner = new GoYamlScanner();
  for (const lexeme of new Lexer().lex(text)) scanner.next(lexeme);
  const separators = [...text.matchAll(SEPARATOR_WITH_TEXT)].map(({ index }) => ({
    offset: index,
    problem: 'a line begins with --- and goes on',
    fix: 'put what is behind it on the next line, or indent the text',
  }));
  return [...separators, ...scanner.problems];
}

/** Keeps what decides in go-yaml whether a tab may stand, under the names that it has there. */
class GoYamlScanner {
  readonly problems: ScannedProblem[] = [];
  #offset = 0;
  #lineStart = 0;
  /** Columns of the block collections around. */
  readonly #indents: number[] = [];
  #flowLevel = 0;
  /** Outside brackets and braces no tab may stand where a field could begin. */
  #simpleKeyAllowed = true;
  /** Column of what is the name of a field if a colon follows on the line. */
  #simpleKey: number | undefined;
  /** A plain text takes the empty lines behind it, and tabs in them from a column on. */
  #plain: { readonly column: number; leadingBlanks: boolean } | undefined;
  #isTextNext = false;
  #blockScalar: { readonly indent: number | undefined } | undefined;
  #hasEnded = false;

  next(lexeme: string): void {
    const type = this.#isTextNext ? 'text' : CST.tokenType(lexeme);
    this.#isTextNext = type === 'scalar';
    // These announce something, and are no part of the text.
    if (type === 'scalar' || type === 'doc-mode' || type === 'flow-error-end') return;
    if (type !== null && type !== 'byte-order-mark') this.#take(type, lexeme);
    this.#offset += lexeme.length;
  }

  #take(type: Lexeme, lexeme: string): void {
    if (type === 'space') return this.#takeSpace(lexeme);
    if (type === 'newline') return this.#takeNewline(lexeme);
    this.#plain = undefined;
    if (type === 'comment') return;
    if (type === 'doc-start' || type === 'doc-end') return this.#takeDocumentMark(type);
    if (type === 'directive-line') {
      return this.#report(
        0,
        'a directive (a line with %), which kubectl refuses',
        'remove the line',
      );
    }
    if (this.#hasEnded) {
      const problem = 'a document after ... without ---, which kubectl leaves out without a word';
      this.#report(0, problem, 'put a line --- before it, or remove the line ...');
      this.#hasEnded = false;
    }
    if (type === 'text' && this.#blockScalar !== undefined) {
      return this.#takeBlockScalar(lexeme, this.#blockScalar.indent);
    }
    if (this.#flowLevel === 0) this.#unrollIndents(this.#column);
    this.#takeToken(type, lexeme);
  }

  #takeToken(type: Lexeme, lexeme: string): void {
    switch (type) {
      case 'seq-item-ind':
      case 'explicit-key-ind':
      case 'map-value-ind':
        return this.#takeIndicator(type);
      case 'flow-map-start':
      case 'flow-seq-start':
        this.#saveSimpleKey();
        this.#flowLevel += 1;
        return;
      case 'flow-map-end':
      case 'flow-seq-end':
        this.#flowLevel = Math.max(0, this.#flowLevel - 1);
        return;
      case 'block-scalar-header':
        this.#blockScalar = { indent: this.#givenIndent(lexeme) };
        this.#simpleKeyAllowed = false;
        return;
      default:
        this.#saveSimpleKey();
    }
    if (type === 'text') this.#takePlain(lexeme);
    if (type === 'double-quoted-scalar') this.#checkEscapes(lexeme);
    if (type === 'double-quoted-scalar' || type === 'single-quoted-scalar')
      this.#countLines(lexeme);
  }

  #takeSpace(lexeme: string): void {
    // What stands there is not read.
    if (this.#hasEnded) return;
    if (this.#plain?.leadingBlanks === true) {
      return this.#checkTabs(lexeme, this.#plain.column - this.#column);
    }
    if (this.#flowLevel === 0 && this.#simpleKeyAllowed) this.#checkTabs(lexeme, lexeme.length);
  }

  #takeNewline(lexeme: string): void {
    this.#lineStart = this.#offset + lexeme.length;
    if (this.#plain !== undefined) this.#plain.leadingBlanks = true;
    if (this.#flowLevel > 0) return;
    this.#simpleKeyAllowed = true;
    this.#simpleKey = undefined;
  }

  #takeDocumentMark(type: 'doc-start' | 'doc-end'): void {
    this.#unrollIndents(-1);
    this.#flowLevel = 0;
    this.#simpleKeyAllowed = false;
    this.#hasEnded = type === 'doc-end';
  }

  #takeIndicator(type: 'seq-item-ind' | 'explicit-key-ind' | 'map-value-ind'): void {
    if (this.#flowLevel > 0) return;
    const key = type === 'map-value-ind' ? this.#simpleKey : undefined;
    this.#rollIndent(key ?? this.#column);
    this.#simpleKeyAllowed = key === undefined;
    this.#simpleKey = undefined;
  }

  #takePlain(text: string): void {
    const column = this.#indent + 1;
    this.#checkLines(text, () => column, 1);
    this.#countLines(text);
    this.#plain = { column, leadingBlanks: false };
  }

  /** `|2` */
  #givenIndent(header: string): number | undefined {
    const digit = /[1-9]/.exec(header)?.[0];
    return digit === undefined ? undefined : Math.max(this.#indent, 0) + Number(digit);
  }

  /** @param given - absent = that of its first line with a text, or of the empty lines before that */
  #takeBlockScalar(text: string, given: number | undefined): void {
    let indent = given;
    let most = 0;
    this.#checkLines(text, (line) => {
      if (indent !== undefined) return indent;
      const blanks = /^ */.exec(line)?.[0].length ?? 0;
      most = Math.max(most, blanks);
      if (blanks < line.length) indent = Math.max(most, this.#indent + 1, 1);
      // Nothing but blanks may stand before it is known.
      return blanks + 1;
    });
    this.#countLines(text);
    this.#blockScalar = undefined;
    this.#simpleKeyAllowed = true;
  }

  /** @param columnOf - from where on tabs may stand in the line */
  #checkLines(text: string, columnOf: (line: string) => number, first = 0): void {
    let at = 0;
    for (const [i, line] of text.split('\n').entries()) {
      if (i >= first) {
        const blanks = /^[ \t]*/.exec(line)?.[0] ?? '';
        // A tab ends the indentation, and is text of a block behind it.
        this.#checkTabs(blanks.slice(0, columnOf(line)), blanks.length, at);
      }
      at += line.length + 1;
    }
  }

  #checkTabs(blanks: string, end: number, at = 0): void {
    const tab = blanks.indexOf('\t');
    if (tab < 0 || tab >= end) return;
    this.#report(at + tab, 'a tab where the indentation counts', 'write blanks instead');
  }

  #checkEscapes(quoted: string): void {
    for (const { 0: escape, 1: four, 2: eight, index } of quoted.matchAll(ESCAPE)) {
      const code = parseInt(four ?? eight ?? '', 16);
      if (escape === '\\/') {
        const problem = 'a backslash before a slash in double quotes';
        this.#report(index, problem, 'remove the backslash');
      } else if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
        const problem = 'an escape in double quotes is no character';
        this.#report(index, problem, 'write the character itself, or \\U and eight digits');
      }
    }
  }

  #report(at: number, problem: string, fix: string): void {
    this.problems.push({ offset: this.#offset + at, problem, fix });
  }

  get #column(): number {
    return this.#offset - this.#lineStart;
  }

  get #indent(): number {
    return this.#indents.at(-1) ?? -1;
  }

  #saveSimpleKey(): void {
    if (this.#flowLevel > 0) return;
    if (this.#simpleKeyAllowed) this.#simpleKey = this.#column;
    this.#simpleKeyAllowed = false;
  }

  #rollIndent(column: number): void {
    if (this.#indent < column) this.#indents.push(column);
  }

  #unrollIndents(column: number): void {
    while (this.#indent > column) this.#indents.pop();
  }

  #countLines(text: string): void {
    const last = text.lastIndexOf('\n');
    if (last >= 0) this.#lineStart = this.#offset + last + 1;
  }
}
