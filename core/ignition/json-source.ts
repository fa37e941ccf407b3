/** Positions in a JSON text, for error messages only. */

export type JsonPath = readonly (string | number)[];

export interface JsonNode {
  /** Index of a scalar, or of the first character inside an object or a list. */
  readonly start: number;
  readonly end: number;
  readonly members?: ReadonlyMap<string, JsonMember>;
  readonly items?: readonly JsonNode[];
}

interface JsonMember {
  readonly keyStart: number;
  /** Index after the key's closing quote. */
  readonly keyEnd: number;
  readonly value: JsonNode;
}

export class JsonSource {
  readonly #text: string;
  readonly root: JsonNode;

  /** @param text - valid JSON */
  constructor(text: string) {
    this.#text = text;
    this.root = new Scanner(text).value();
  }

  /** `line 3 col 7` of a value, or of the nearest enclosing value that exists. */
  describe(path: JsonPath): string {
    return this.#describeIndex(this.#nearest(path).start);
  }

  /** The same for a key. */
  describeKey(path: JsonPath): string {
    const key = path.at(-1);
    const parent = this.#nearest(path.slice(0, -1));
    const member = parent.members?.get(String(key));
    return this.#describeIndex(member?.keyStart ?? parent.start);
  }

  /** The position at which Go's decoder refuses a value: after a scalar, inside a collection. */
  describeRefused(path: JsonPath): string {
    const node = this.#nearest(path);
    const collection = node.members !== undefined || node.items !== undefined;
    return this.#describeIndex(collection ? node.start : node.end);
  }

  /**
   * A place in the form of reports of specification 2: line, column and the text up to it. Columns
   * count from 0 on the first line and from 1 on the others.
   */
  excerpt(index: number): { readonly where: string; readonly lines: string } {
    const lines = this.#text.slice(0, index).split('\n');
    const last = lines.at(-1) ?? '';
    const column = Buffer.byteLength(last) + (lines.length > 1 ? 1 : 0);
    const numbered = lines
      .map((line, i) => `${String(i + 1).padStart(5)}: ${line}\n`)
      .slice(-2)
      .join('');
    return {
      where: `line ${lines.length}, column ${column}`,
      lines: `${numbered}${' '.repeat(column + 5)}^\n`,
    };
  }

  #nearest(path: JsonPath): JsonNode {
    let node = this.root;
    for (const step of path) {
      const next = typeof step === 'number' ? node.items?.[step] : node.members?.get(step)?.value;
      if (next === undefined) return node;
      node = next;
    }
    return node;
  }

  /**
   * Lines and columns count from 1, columns in bytes; beyond the end both are 0, as in Ignition.
   */
  #describeIndex(index: number): string {
    if (index >= this.#text.length) return 'line 0 col 0';
    const before = this.#text.slice(0, index);
    const line = before.split('\n').length;
    const column = Buffer.byteLength(before.slice(before.lastIndexOf('\n') + 1)) + 1;
    return `line ${line} col ${column}`;
  }
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): JsonNode {
    this.#skipSpace();
    const character = this.#text.charAt(this.#at);
    if (character === '{') return this.#object();
    if (character === '[') return this.#list();
    const start = this.#at;
    if (character === '"') this.#string();
    else while (/[-+.\w]/.test(this.#text.charAt(this.#at))) this.#at++;
    return { start, end: this.#at };
  }

  #object(): JsonNode {
    const start = ++this.#at;
    const members = new Map<string, JsonMember>();
    for (this.#skipSpace(); this.#text.charAt(this.#at) !== '}'; this.#skipSeparator()) {
      const keyStart = this.#at;
      this.#string();
      const keyEnd = this.#at;
      const key = JSON.parse(this.#text.slice(keyStart, keyEnd)) as string;
      this.#skipSeparator();
      members.set(key, { keyStart, keyEnd, value: this.value() });
    }
    return { start, end: ++this.#at, members };
  }

  #list(): JsonNode {
    const start = ++this.#at;
    const items: JsonNode[] = [];
    for (this.#skipSpace(); this.#text.charAt(this.#at) !== ']'; this.#skipSeparator()) {
      items.push(this.value());
    }
    return { start, end: ++this.#at, items };
  }

  #string(): void {
    for (this.#at++; this.#text.charAt(this.#at) !== '"'; this.#at++) {
      if (this.#text.charAt(this.#at) === '\\') this.#at++;
    }
    this.#at++;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
  }

  #skipSeparator(): void {
    this.#skipSpace();
    if (/[,:]/.test(this.#text.charAt(this.#at))) this.#at++;
    this.#skipSpace();
  }
}
