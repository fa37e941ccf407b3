/** Templates as files, and what is found wrong with them or with the values that they insert. */

import type { FieldStep } from '../field-path';

/** `path` is relative to the folder of the templates, with slashes. */
export interface TemplateFile {
  readonly path: string;
  readonly text: string;
}

/** Everything below the folder of the templates, or why it cannot be read. */
export type TemplateFolder =
  { readonly files: readonly TemplateFile[] } | { readonly problem: string };

/** About a field of the ControllerConfig, or about a line of a template. */
export interface TemplateFinding {
  /** In the ControllerConfig; absent = the template is wrong. */
  readonly path?: readonly FieldStep[];
  /** Line from 1. */
  readonly template?: { readonly file: string; readonly line: number };
  readonly problem: string;
  readonly fix: string;
}

/**
 * What a text becomes. `unit`: a unit or drop-in of systemd. `text`: the text of a file. `data`: one
 * text in data that a writer of its format writes.
 */
export type TextKind = 'unit' | 'text' | 'data';

export interface FillInput {
  readonly text: string;
  readonly kind: TextKind;
  /** Of all values, also of those that are not known here. */
  readonly names: ReadonlySet<string>;
  readonly values: Readonly<Record<string, string>>;
}

/** `row` is the line in the text, from 1. */
export type Filled =
  | { readonly text: string }
  | { readonly row: number; readonly unknown: string }
  | { readonly row: number; readonly missing: string }
  | { readonly row: number; readonly refused: string; readonly value: string }
  | { readonly row: number; readonly problem: string };

interface ReadDocument {
  readonly value: unknown;
  placeOf(path: readonly FieldStep[]): { readonly line: number };
}

export interface TemplatePorts {
  /** The template language. */
  readonly fill: (input: FillInput) => Filled;
  /** YAML of any number of documents, with places. */
  readonly readYaml: (text: string) => {
    readonly documents: readonly ReadDocument[];
    readonly problems: readonly {
      readonly line: number;
      readonly problem: string;
      readonly fix: string;
    }[];
  };
}
