/** Reads the fields of a template, and reports each that is wrong. */

import type { FieldStep } from '../field-path';
import type { Filler, TemplateDocument } from './filler';
import type { TextKind } from './types';

const TRUTH: Readonly<Record<string, boolean>> = { true: true, false: false };

export class Shape {
  readonly #filler: Filler;
  readonly #document: TemplateDocument;
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #at: readonly FieldStep[];

  private constructor(
    filler: Filler,
    document: TemplateDocument,
    value: Readonly<Record<string, unknown>>,
    at: readonly FieldStep[] = [],
  ) {
    this.#filler = filler;
    this.#document = document;
    this.#value = value;
    this.#at = at;
  }

  /** Undefined when its `when` excludes it, or after a finding. */
  static read(filler: Filler, fields: readonly string[]): Shape | undefined {
    const document = filler.read();
    if (document === undefined) return undefined;
    const shape = new Shape(filler, document, document.value);
    shape.only(fields);
    return shape.applies() ? shape : undefined;
  }

  below(path: readonly FieldStep[], value: Readonly<Record<string, unknown>>): Shape {
    return new Shape(this.#filler, this.#document, value, [...this.#at, ...path]);
  }

  has(field: string): boolean {
    return this.#value[field] !== undefined;
  }

  get(field: string): unknown {
    return this.#value[field];
  }

  only(fields: readonly string[]): void {
    for (const field of Object.keys(this.#value)) {
      if (!fields.includes(field)) {
        this.report(field, `unknown field ${field}`, `write one of ${fields.join(', ')}`);
      }
    }
  }

  report(field: string, problem: string, fix: string): void {
    this.#filler.report(this.#document.lineOf([...this.#at, field]), problem, fix);
  }

  /** Undefined = absent, or after a finding. */
  text(field: string, kind: TextKind): string | undefined {
    const value = this.#value[field];
    if (value === undefined) return undefined;
    if (typeof value === 'string')
      return this.#filler.text(value, kind, this.#document, [...this.#at, field]);
    this.report(field, `${field} is no text`, 'write a text; with {{ }} in quotes');
    return undefined;
  }

  required(field: string, kind: TextKind): string | undefined {
    if (!this.has(field)) this.report(field, `${field} is missing`, 'add it');
    const text = this.text(field, kind);
    if (text?.trim() === '') this.report(field, `${field} is empty`, 'write it');
    return text;
  }

  data(field: string): unknown {
    return this.#filler.data(this.#value[field], this.#document, [...this.#at, field]);
  }

  /** Permission bits. */
  mode(field: string): number | undefined {
    const value = this.#value[field];
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0o777)
      return value;
    this.report(field, `${field} is no permission`, 'write it as 0644, without quotes');
    return undefined;
  }

  /** Also from a template that becomes true or false. */
  boolean(field: string): boolean | undefined {
    const value = this.#value[field];
    if (value === undefined || typeof value === 'boolean') return value;
    const text = typeof value === 'string' ? this.text(field, 'data') : '';
    const read = TRUTH[text?.trim() ?? ''];
    if (read === undefined && text !== undefined) {
      this.report(field, `${field} is neither true nor false`, 'write true or false');
    }
    return read;
  }

  /** False = `when` is there and becomes nothing: the template is left out. */
  applies(): boolean {
    return !this.has('when') || this.text('when', 'data')?.trim() !== '';
  }
}
