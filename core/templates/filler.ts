/** Fills in the texts of one template, and says where one cannot be filled in. */

import { fieldText, type FieldStep } from '../field-path';
import { isRecord } from '../is-record';
import { fieldOf, VALUE_NAMES } from './facts';
import type { Filled, TemplateFile, TemplateFinding, TemplatePorts, TextKind } from './types';

/** The header of a block: its text begins in the next line. Lines of a quoted text are not those of the file. */
const BLOCK = /[|>][-+0-9]*\s*(#.*)?$/;

export type Values = Readonly<Record<string, string>>;

/** A template as it is read. */
export interface TemplateDocument {
  readonly value: Readonly<Record<string, unknown>>;
  lineOf(path: readonly FieldStep[]): number;
}

export class Filler {
  readonly findings: TemplateFinding[] = [];
  readonly #file: TemplateFile;
  readonly #values: Values;
  readonly #ports: TemplatePorts;

  constructor(file: TemplateFile, values: Values, ports: TemplatePorts) {
    this.#file = file;
    this.#values = values;
    this.#ports = ports;
  }

  /** Undefined after a finding. */
  read(): TemplateDocument | undefined {
    const { documents, problems } = this.#ports.readYaml(this.#file.text);
    for (const { line, problem, fix } of problems) this.report(line, problem, fix);
    if (problems.length > 0) return undefined;
    const [document, second] = documents;
    if (document === undefined || !isRecord(document.value)) {
      this.report(1, 'is no template', 'write its fields, one per line: path or name first');
      return undefined;
    }
    if (second !== undefined) {
      this.report(second.placeOf([]).line, 'a second document', 'give it a file of its own');
      return undefined;
    }
    return { value: document.value, lineOf: (path) => document.placeOf(path).line };
  }

  report(line: number, problem: string, fix: string): void {
    this.findings.push({ template: { file: this.#file.path, line }, problem, fix });
  }

  /** Undefined after a finding. */
  text(
    text: string,
    kind: TextKind,
    document: TemplateDocument,
    path: readonly FieldStep[],
  ): string | undefined {
    if (!/\{[{%]/.test(text)) return text;
    const filled = this.#ports.fill({ text, kind, names: VALUE_NAMES, values: this.#values });
    if ('text' in filled) return filled.text;
    this.#reportFilled(filled, this.#lineIn(document.lineOf(path), filled.row));
    return undefined;
  }

  /**
   * Data with every text in it filled in. A field or an entry whose template becomes an empty text is
   * left out.
   */
  data(value: unknown, document: TemplateDocument, path: readonly FieldStep[]): unknown {
    if (typeof value === 'string') {
      const filled = this.text(value, 'data', document, path);
      return filled === '' && value !== '' ? undefined : filled;
    }
    if (Array.isArray(value)) {
      const list = value.map((item, i) => this.data(item, document, [...path, i]));
      return list.filter((item) => item !== undefined);
    }
    if (!isRecord(value)) return value;
    const fields = Object.entries(value).map(([key, item]): [string, unknown] => [
      key,
      this.data(item, document, [...path, key]),
    ]);
    return Object.fromEntries(fields.filter(([, item]) => item !== undefined));
  }

  #lineIn(line: number, row: number): number {
    const header = this.#file.text.split('\n')[line - 1] ?? '';
    return BLOCK.test(header) ? line + row : line;
  }

  #reportFilled(filled: Exclude<Filled, { text: string }>, line: number): void {
    if ('problem' in filled)
      this.report(line, filled.problem, 'correct it as in docs/templates.md');
    else if ('unknown' in filled) {
      const fix = `write one of ${[...VALUE_NAMES].join(', ')}`;
      this.report(line, `there is no value ${filled.unknown}`, fix);
    } else if ('missing' in filled) this.#reportMissing(filled.missing, line);
    else this.#reportRefused(filled, line);
  }

  #reportMissing(name: string, line: number): void {
    const path = fieldOf(name);
    const fix = `or ask for it in the template: {% if ${name} %}`;
    if (path === undefined) {
      this.report(line, `the value ${name} has nothing here`, 'leave it out');
      return;
    }
    const problem = `is missing, and the template ${this.#file.path}:${line} inserts it`;
    this.findings.push({ path, problem, fix: `add it, ${fix}` });
  }

  #reportRefused({ value, refused }: { value: string; refused: string }, line: number): void {
    const path = fieldOf(value);
    const place = `${this.#file.path}:${line}`;
    if (path === undefined) {
      this.report(line, `the value of ${value} has ${refused}`, 'insert it elsewhere');
      return;
    }
    const problem = `has ${refused}, which cannot stand where the template ${place} inserts it`;
    this.findings.push({ path, problem, fix: 'write it without' });
  }
}

/** One line: field or place, problem, fix. */
export function findingText({ path, template, problem, fix }: TemplateFinding): string {
  const where =
    path === undefined
      ? `template ${template?.file ?? ''}:${template?.line ?? 1}`
      : fieldText(path);
  return `${where}: ${problem}; ${fix}`;
}
