/** Common to all kinds of conformance files: how to recognise a file and how to run a case. */

/** One case: `run` feeds its input to the product's own functions. */
export interface ConformanceCase {
  readonly name: string;
  /**
   * Expected and actual answer, in the shape of the file's `expected`. Throws only when the product throws
   * unexpectedly, which fails the case.
   */
  run(): Answer | Promise<Answer>;
}

interface Answer {
  readonly expected: unknown;
  readonly actual: unknown;
}

/** A kind of file, recognised by content, never by file name. */
export interface ConformanceKind {
  readonly name: string;
  /** Whether this parsed file is of the kind; checks the shape of its cases. */
  matches(file: unknown): boolean;
  /** The cases in file order. Throws when the file is malformed. */
  cases(file: unknown): readonly ConformanceCase[];
}

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
