/** What every kind of conformance file has in common: how to recognise it and how to run a case. */

/** One case: `run` feeds its input to the product's own functions. */
export interface ConformanceCase {
  readonly name: string;
  /**
   * Answers both sides in the shape of the file's `expected`. Throws only when the product throws
   * where an answer was expected; the runner then counts the case as failed.
   */
  run(): Answer | Promise<Answer>;
}

/** Both sides of a case. */
export interface Answer {
  readonly expected: unknown;
  readonly actual: unknown;
}

/** A kind of file, chosen by content and never by file name. */
export interface ConformanceKind {
  readonly name: string;
  /** Whether this (parsed) file is of the kind: looks at the shape of its first case. */
  matches(file: unknown): boolean;
  /** The cases in file order. Throws when the file is of the kind but malformed. */
  cases(file: unknown): readonly ConformanceCase[];
}

/** A plain object that was read from JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The `cases` of a file, or undefined when the file has another shape. */
export function casesOf(file: unknown): readonly JsonObject[] | undefined {
  if (!isJsonObject(file) || !Array.isArray(file['cases'])) return undefined;
  const cases: readonly unknown[] = file['cases'];
  return cases.every(isJsonObject) ? cases : undefined;
}
