/**
 * JSON text as Go's decoder reads it: the first value of the text, with its number literals, the
 * order of its members and repeated ones, and Go's words for what is no JSON.
 */

import { goQuoteRune } from './go-quote';

export type GoJson =
  | { readonly kind: 'null' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'number'; readonly raw: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly items: readonly GoJson[]; readonly raw: string }
  | { readonly kind: 'object'; readonly members: readonly GoJsonMember[]; readonly raw: string };

export type GoJsonMember = readonly [name: string, value: GoJson];

type Read =
  | { readonly value: GoJson }
  /** Bytes up to and with the one that is wrong; absent = the text ends too early. */
  | { readonly error: string; readonly offset?: number };

const MAX_DEPTH = 10_000;

/** Reads the first value; what follows it is ignored, as in a stream of values. */
export function readGoJson(text: string): Read {
  const scanner = new Scanner(text);
  try {
    return { value: scanner.value(0) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return error.problem;
  }
}

/** Ends the descent; never leaves this file. */
class Refused extends Error {
  readonly problem: { readonly error: string; readonly offset?: number };

  constructor(problem: { readonly error: string; readonly offset?: number }) {
    super(problem.error);
    this.problem = problem;
  }
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): GoJson {
    this.#skipBlanks();
    const start = this.#at;
    const first = this.#text.charAt(start);
    if (first === '{') return this.#object(start, depth);
    if (first === '[') return this.#array(start, depth);
    if (first === '"') return { kind: 'string', value: this.#string() };
    if (/[-0-9]/.test(first)) return { kind: 'number', raw: this.#number() };
    if (first === 't') return { kind: 'bool', value: this.#literal('true') === 'true' };
    if (first === 'f') return { kind: 'bool', value: this.#literal('false') === 'true' };
    if (first === 'n' && this.#literal('null') === 'null') return { kind: 'null' };
    throw this.#refused('looking for beginning of value');
  }

  #object(start: number, depth: number): GoJson {
    this.#descend(depth);
    const members: GoJsonMember[] = [];
    for (let first = true; ; first = false) {
      this.#skipBlanks();
      if (first && this.#take('}')) break;
      if (this.#peek() !== '"') throw this.#refused('looking for beginning of object key string');
      const name = this.#string();
      this.#skipBlanks();
      if (!this.#take(':')) throw this.#refused('after object key');
      members.push([name, this.value(depth + 1)]);
      this.#skipBlanks();
      if (this.#take('}')) break;
      if (!this.#take(',')) throw this.#refused('after object key:value pair');
    }
    return { kind: 'object', members, raw: this.#text.slice(start, this.#at) };
  }

  #array(start: number, depth: number): GoJson {
    this.#descend(depth);
    const items: GoJson[] = [];
    for (let first = true; ; first = false) {
      this.#skipBlanks();
      if (first && this.#take(']')) break;
      items.push(this.value(depth + 1));
      this.#skipBlanks();
      if (this.#take(']')) break;
      if (!this.#take(',')) throw this.#refused('after array element');
    }
    return { kind: 'array', items, raw: this.#text.slice(start, this.#at) };
  }

  #descend(depth: number): void {
    if (depth >= MAX_DEPTH)
      throw new Refused({ error: 'exceeded max depth', offset: this.#at + 1 });
    this.#at++;
  }

  #string(): string {
    const start = this.#at;
    for (this.#at++; this.#peek() !== '"'; this.#at++) {
      if (this.#peek() === '\\') this.#escape();
      else if (/^[\x20-\uffff]$/.test(this.#peek())) continue;
      else throw this.#refused('in string literal');
    }
    this.#at++;
    const value: unknown = JSON.parse(this.#text.slice(start, this.#at));
    return String(value).replace(/\p{Cs}/gu, '\ufffd');
  }

  #escape(): void {
    this.#at++;
    if (this.#peek() !== 'u') {
      if (/^["\\/bfnrt]$/.test(this.#peek())) return;
      throw this.#refused('in string escape code');
    }
    for (let digit = 0; digit < 4; digit++) {
      this.#at++;
      if (!/^[0-9a-fA-F]$/.test(this.#peek())) {
        throw this.#refused('in \\u hexadecimal character escape');
      }
    }
  }

  #number(): string {
    const start = this.#at;
    this.#take('-');
    if (!this.#take('0')) this.#digits('in numeric literal');
    if (this.#take('.')) this.#digits('after decimal point in numeric literal');
    if (this.#take('e') || this.#take('E')) {
      if (!this.#take('+')) this.#take('-');
      this.#digits('in exponent of numeric literal');
    }
    return this.#text.slice(start, this.#at);
  }

  #digits(place: string): void {
    if (!/^\d$/.test(this.#peek())) throw this.#refused(place);
    while (/^\d$/.test(this.#peek())) this.#at++;
  }

  #literal(word: string): string {
    for (const letter of word) {
      if (this.#take(letter)) continue;
      throw this.#refused(`in literal ${word} (expecting '${letter}')`);
    }
    return word;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #skipBlanks(): void {
    while (/^[ \t\r\n]$/.test(this.#peek())) this.#at++;
  }

  #refused(place: string): Refused {
    if (this.#at >= this.#text.length) return new Refused({ error: 'unexpected EOF' });
    const before = Buffer.byteLength(this.#text.slice(0, this.#at));
    const [byte = 0] = Buffer.from(this.#text.slice(this.#at, this.#at + 2));
    const error = `invalid character ${goQuoteRune(String.fromCharCode(byte))} ${place}`;
    return new Refused({ error, offset: before + 1 });
  }
}
