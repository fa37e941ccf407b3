/**
 * YAML and JSON as kubectl reads them, with the place of every field. No message quotes the text:
 * manifests hold secrets.
 */

import { isMap, isSeq, LineCounter, parseAllDocuments, type Document, type ParsedNode } from 'yaml';
import { nearestNode, type Step } from './yaml-places';
import { YamlReader } from './yaml-reader';
import { SYNTAX } from './yaml-syntax';

/** Counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface SyntaxProblem extends Place {
  readonly problem: string;
  readonly fix: string;
}

export interface YamlDocument {
  /** As JSON would hold it. */
  readonly value: unknown;
  /** Where the field is, or else the nearest thing around it that exists. */
  placeOf(path: readonly Step[]): Place;
}

export interface YamlDocuments {
  /** Without empty ones, and without those that have a problem. */
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly SyntaxProblem[];
}

/** What begins so is JSON to kubectl, whose texts may hold more than those of YAML. */
const JSON_BEGINS = /^\s*\{/;

// eslint-disable-next-line no-control-regex -- control characters are what no JSON holds
const NOT_IN_JSON = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** What go-yaml refuses wherever it stands, also in quotes and comments. */
const NOT_IN_YAML = /[^\t\n\r\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/** They end a line, and a comment with it, for go-yaml and not for the parser here. */
const OTHER_BREAKS = { json: /\r(?!\n)/g, yaml: /\r(?!\n)|\u0085/g };

/** Reads every document of a file. */
export function readYaml(text: string): YamlDocuments {
  const isJson = JSON_BEGINS.test(text);
  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  // One character for another, so that every place stays what it is.
  const broken = text.replace(isJson ? OTHER_BREAKS.json : OTHER_BREAKS.yaml, '\n');
  const parsed = parseAllDocuments<ParsedNode>(broken, {
    schema: 'failsafe',
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'silent',
  });
  if (!Array.isArray(parsed)) return { documents: [], problems: [] };
  const control = (isJson ? NOT_IN_JSON : NOT_IN_YAML).exec(text);
  if (control !== null) {
    const fix = 'write it as an escape in double quotes, such as "\\x1b", or remove it';
    const problem = 'a control character';
    return { documents: [], problems: [{ ...place(control.index), problem, fix }] };
  }
  const documents: YamlDocument[] = [];
  const problems: SyntaxProblem[] = [];
  for (const document of parsed) {
    const found = problemsOf(document, place);
    problems.push(...found.problems);
    if (found.problems.length > 0 || found.value === null) continue;
    documents.push({
      value: found.value,
      placeOf: (path) => place(nearestNode(document, path)),
    });
  }
  return { documents, problems };
}

function problemsOf(
  document: Document.Parsed<ParsedNode>,
  place: (offset: number) => Place,
): { readonly value: unknown; readonly problems: readonly SyntaxProblem[] } {
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ code, pos }) => ({
      ...place(pos[0]),
      ...SYNTAX[code],
    }));
    return { value: null, problems: withoutFollowers(problems) };
  }
  const problems: SyntaxProblem[] = [];
  const reader = new YamlReader(document, (offset, problem, fix) => {
    problems.push({ ...place(offset), problem, fix });
  });
  const value = reader.read(document.contents);
  const isFilled = isMap(document.contents) || isSeq(document.contents);
  return { value: isFilled ? value : (value ?? null), problems };
}

/** One slip makes a parser stumble several times on the same line; the first time says enough. */
function withoutFollowers(problems: readonly SyntaxProblem[]): readonly SyntaxProblem[] {
  return problems.filter(({ line }, i) => i === 0 || problems[i - 1]?.line !== line);
}
