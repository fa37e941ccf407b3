/** Nodes as plain values, by the rules of kubectl's go-yaml v2. */

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  visit,
  type Alias,
  type Document,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
} from 'yaml';

/** Nested aliases grow without limit. */
const MAX_VALUES = 1_000_000;
const MAX_DEPTH = 200;

const PREFIX = 'tag:yaml.org,2002:';
/** Read as if it had neither quotes nor a tag. */
const PLAIN_TAGS = ['int', 'float', 'bool', 'null'].map((name) => PREFIX + name);
const TEXT_TAG = `${PREFIX}str`;
const KNOWN_TAGS = new Set([...PLAIN_TAGS, TEXT_TAG, `${PREFIX}map`, `${PREFIX}seq`]);

/** Go replaces half characters of JSON escapes. */
const HALF_CHARACTER = /\p{Cs}/gu;

/** The value of a scalar without quotes and tag. */
export type ReadScalar = (text: string) => string | number | bigint | boolean | null;

type ReportAt = (offset: number, problem: string, fix: string) => void;

export class YamlReader {
  readonly #document: Document.Parsed<ParsedNode>;
  readonly #report: ReportAt;
  readonly #readPlain: ReadScalar;
  /** Nested aliases would take hours otherwise. */
  #anchors: ReadonlyMap<string, readonly ParsedNode[]> | undefined;
  #values = 0;

  constructor(document: Document.Parsed<ParsedNode>, report: ReportAt, readPlain: ReadScalar) {
    this.#document = document;
    this.#report = report;
    this.#readPlain = readPlain;
  }

  /** Anything unreadable is reported and null. */
  read(node: unknown, depth = 0): unknown {
    if (node === null || node === undefined || !this.#isBounded(node, depth)) return null;
    if (isAlias(node)) return this.#readAlias(node, depth);
    this.#checkTag(node);
    if (isMap(node)) return this.#readMap(node, depth);
    if (isSeq(node)) return node.items.map((item) => this.read(item, depth + 1));
    return isScalar(node) ? this.#readScalar(node) : null;
  }

  #isBounded(node: unknown, depth: number): boolean {
    this.#values += 1;
    if (this.#values === MAX_VALUES || depth === MAX_DEPTH) {
      this.#report(offsetOf(node), 'too many or too deeply nested values', 'use fewer aliases');
    }
    return this.#values < MAX_VALUES && depth < MAX_DEPTH;
  }

  #readAlias(node: Alias, depth: number): unknown {
    this.#anchors ??= anchorsOf(this.#document);
    // An alias means the last definition before it.
    const target = this.#anchors
      .get(node.source)
      ?.findLast((anchored) => offsetOf(anchored) < offsetOf(node));
    if (target !== undefined) return this.read(target, depth + 1);
    this.#report(offsetOf(node), 'an alias names no anchor', 'put a text with * into quotes');
    return null;
  }

  /** A later `<<` overrides a field, as in go-yaml v2 and against the YAML specification. */
  #readMap(map: YAMLMap, depth: number): Readonly<Record<string, unknown>> {
    const fields: [string, unknown][] = [];
    for (const { key, value } of map.items) {
      if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN') {
        fields.push(...this.#mergedFields(value, depth));
      } else {
        fields.push([this.#readKey(key), this.read(value, depth + 1)]);
      }
    }
    return Object.fromEntries(fields);
  }

  /** Of several maps the first wins. */
  #mergedFields(value: unknown, depth: number): readonly [string, unknown][] {
    const read = this.read(value, depth + 1);
    const sources: readonly unknown[] = Array.isArray(read) ? read : [read];
    return sources.toReversed().flatMap((source) => {
      if (typeof source === 'object' && source !== null && !Array.isArray(source)) {
        return Object.entries(source);
      }
      this.#report(offsetOf(value), '<< merges something that is no object', 'quote the name <<');
      return [];
    });
  }

  #readKey(key: unknown): string {
    const read = this.read(key, MAX_DEPTH - 2);
    if (typeof read === 'string') return read;
    if (['number', 'bigint', 'boolean'].includes(typeof read)) return String(read);
    this.#report(offsetOf(key), 'the name of a field is no text', 'put it into quotes');
    return '';
  }

  #readScalar(scalar: Scalar): unknown {
    const text = String(scalar.value).replace(HALF_CHARACTER, '\ufffd');
    const { tag } = scalar;
    const isPlain = tag === undefined || tag === '' ? scalar.type === 'PLAIN' : isPlainTag(tag);
    if (!isPlain) return text;
    const value = this.#readPlain(text);
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    this.#report(offsetOf(scalar), 'not a finite number', 'write a number, or quote the text');
    return null;
  }

  #checkTag(node: { readonly tag?: string }): void {
    const { tag } = node;
    if (tag === undefined || tag === '' || tag === '!' || KNOWN_TAGS.has(tag)) return;
    this.#report(offsetOf(node), 'a tag that Kubernetes does not know', 'remove it');
  }
}

function anchorsOf(
  document: Document.Parsed<ParsedNode>,
): ReadonlyMap<string, readonly ParsedNode[]> {
  const anchors = new Map<string, ParsedNode[]>();
  visit(document, {
    Value: (_key, node) => {
      if (node.anchor === undefined) return;
      anchors.set(node.anchor, [...(anchors.get(node.anchor) ?? []), node as ParsedNode]);
    },
  });
  return anchors;
}

function isPlainTag(tag: string): boolean {
  return PLAIN_TAGS.includes(tag);
}

export function offsetOf(node: unknown): number {
  const range = (node as { readonly range?: readonly number[] | null } | null | undefined)?.range;
  return range?.[0] ?? 0;
}
