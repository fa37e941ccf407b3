/**
 * Reads YAML and JSON as kubectl does. No message quotes the text, because manifests hold secrets.
 */

import { isMap, isSeq, LineCounter, parseAllDocuments, type Document, type ParsedNode } from 'yaml';
import { readPlain } from '../../core/yaml/read-plain';
import { scanAsGoYaml } from './go-yaml-scanner';
import { partsOf, type TextPart } from './text-parts';
import { nearestNode, type Step } from './yaml-places';
import { YamlReader, type ReadScalar } from './yaml-reader';
import { SYNTAX } from './yaml-syntax';

/** Counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

interface SyntaxProblem extends Place {
  readonly problem: string;
  readonly fix: string;
}

export interface YamlDocument {
  /** As a JSON value. */
  readonly value: unknown;
  /** Or of the nearest existing parent. */
  placeOf(path: readonly Step[]): Place;
}

interface YamlDocuments {
  /** Without empty and faulty documents. */
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly SyntaxProblem[];
}

// eslint-disable-next-line no-control-regex -- control characters are what no JSON holds
const NOT_IN_JSON = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** Also in quotes and comments. */
const NOT_IN_YAML = /[^\t\n\r\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/** @param scalars - how to read what has neither quotes nor a tag */
export function readYaml(text: string, scalars: ReadScalar = readPlain): YamlDocuments {
  const parts = partsOf(text);
  const lines = lineCounterOf(parts);
  const read = parts.map((part) => {
    const placeAt: PlaceAt = (at) => {
      const { line, col } = lines.linePos(part.offset + at);
      return { line: Math.max(line, 1), column: Math.max(col, 1) };
    };
    return readPart(part, placeAt, scalars);
  });
  return {
    documents: read.flatMap(({ documents }) => documents),
    problems: read.flatMap(({ problems }) => problems),
  };
}

function lineCounterOf(parts: readonly TextPart[]): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (const { text, offset } of parts) {
    for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(offset + index + 1);
  }
  return lines;
}

type PlaceAt = (offset: number) => Place;

function readPart(
  { text, format }: TextPart,
  placeAt: PlaceAt,
  scalars: ReadScalar,
): YamlDocuments {
  const control = (format === 'json' ? NOT_IN_JSON : NOT_IN_YAML).exec(text);
  if (control !== null) {
    const fix = 'write it as an escape in double quotes, such as "\\x1b", or remove it';
    const problem = 'a control character';
    return { documents: [], problems: [{ ...placeAt(control.index), problem, fix }] };
  }
  if (format === 'neither') {
    const problem = 'something that is no object of JSON after several';
    const fix = 'put a line --- between all objects, or write nothing but JSON';
    return { documents: [], problems: [{ ...placeAt(text.search(/\S/)), problem, fix }] };
  }
  const parsed = parsePart(text, placeAt, scalars);
  const scanned = format === 'json' ? [] : scanAsGoYaml(text);
  if (scanned.length === 0) return parsed;
  const problems = scanned.map(({ offset, ...found }) => ({ ...placeAt(offset), ...found }));
  // The scanner's problem is the cause.
  const all = [...problems, ...parsed.problems].sort((a, b) => a.line - b.line);
  return { documents: [], problems: withoutFollowers(all) };
}

function parsePart(text: string, placeAt: PlaceAt, scalars: ReadScalar): YamlDocuments {
  const parsed = parseAllDocuments<ParsedNode>(text, {
    schema: 'failsafe',
    prettyErrors: false,
    logLevel: 'silent',
  });
  if (!Array.isArray(parsed)) return { documents: [], problems: [] };
  const documents: YamlDocument[] = [];
  const problems: SyntaxProblem[] = [];
  for (const document of parsed) {
    const found = problemsOf(document, placeAt, scalars);
    problems.push(...found.problems);
    if (found.problems.length > 0 || found.value === null) continue;
    documents.push({
      value: found.value,
      placeOf: (path) => placeAt(nearestNode(document, path)),
    });
  }
  return { documents, problems };
}

function problemsOf(
  document: Document.Parsed<ParsedNode>,
  placeAt: PlaceAt,
  scalars: ReadScalar,
): { readonly value: unknown; readonly problems: readonly SyntaxProblem[] } {
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ code, pos }) => ({
      ...placeAt(pos[0]),
      ...SYNTAX[code],
    }));
    return { value: null, problems: withoutFollowers(problems) };
  }
  const problems: SyntaxProblem[] = [];
  const report = (offset: number, problem: string, fix: string): void => {
    problems.push({ ...placeAt(offset), problem, fix });
  };
  const reader = new YamlReader(document, report, scalars);
  const value = reader.read(document.contents);
  const isFilled = isMap(document.contents) || isSeq(document.contents);
  return { value: isFilled ? value : (value ?? null), problems };
}

/** One fault causes several problems on a line. */
function withoutFollowers(problems: readonly SyntaxProblem[]): readonly SyntaxProblem[] {
  return problems.filter(({ line }, i) => i === 0 || problems[i - 1]?.line !== line);
}
