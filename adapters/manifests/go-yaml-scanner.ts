/**
 * Finds what kubectl's go-yaml v2 refuses and the parser here accepts: tabs in the indentation,
 * some escapes, directives, and documents without a beginning.
 */

import { CST, Lexer } from 'yaml';

interface ScannedProblem {
  readonly offset: number;
  readonly problem: string;
  readonly fix: string;
}

type Lexeme = CST.TokenType | 'text';

/** kubectl splits a file here first. */
const SEPARATOR_WITH_TEXT = /^---[ \t]*[^\s#]/gm;

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[^])/g;

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

/** The state by which go-yaml allows a tab, under its names. */
class GoYamlScanner {
  readonly problems: ScannedProblem[] = [];
  #offset = 0;
  #lineStart = 0;
  /** Columns of the enclosing block collections. */
  readonly #indents: number[] = [];
  #flowLevel = 0;
  /** Outside brackets and braces, no tab may be where a field could begin. */
  #simpleKeyAllowed = true;
  /** Column of the name of a field, if a colon follows on the line. */
  #simpleKey: number | undefined;
  /** A plain text includes the empty lines behind it, and tabs in them after a column. */
  #plain: { readonly column: number; leadingBlanks: boolean } | undefined;
  #isTextNext = false;
  #blockScalar: { readonly indent: number | undefined } | undefined;
  #hasEnded = false;

  next(lexeme: string): void {
    const type = this.#isTextNext ? 'text' : CST.tokenType(lexeme);
    this.#isTextNext = type === 'scalar';
    // These tokens only announce others.
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
    // Text after the end is not read.
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

  #givenIndent(header: string): number | undefined {
    const digit = /[1-9]/.exec(header)?.[0];
    return digit === undefined ? undefined : Math.max(this.#indent, 0) + Number(digit);
  }

  /**
   * @param given - absent: the indent of the first line with text, or of the empty lines before it
   */
  #takeBlockScalar(text: string, given: number | undefined): void {
    let indent = given;
    let most = 0;
    this.#checkLines(text, (line) => {
      if (indent !== undefined) return indent;
      const blanks = /^ */.exec(line)?.[0].length ?? 0;
      most = Math.max(most, blanks);
      if (blanks < line.length) indent = Math.max(most, this.#indent + 1, 1);
      // Only blanks may come before the indent is known.
      return blanks + 1;
    });
    this.#countLines(text);
    this.#blockScalar = undefined;
    this.#simpleKeyAllowed = true;
  }

  /** @param columnOf - the column of a line from which tabs are allowed */
  #checkLines(text: string, columnOf: (line: string) => number, first = 0): void {
    let at = 0;
    for (const [i, line] of text.split('\n').entries()) {
      if (i >= first) {
        const blanks = /^[ \t]*/.exec(line)?.[0] ?? '';
        // Then a tab is text of the block.
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
