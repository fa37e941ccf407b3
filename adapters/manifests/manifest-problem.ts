/** A fault in a manifest. Never quotes a config. */

export interface ManifestProblem {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** Absent when the text is unreadable. */
  readonly object?: string;
  /** Absent: the whole object. */
  readonly field?: string;
  readonly problem: string;
  readonly fix: string;
}

/** Editors and CI logs can open the place. */
export function describeManifestProblem(found: ManifestProblem): string {
  const { file, line, object, field, problem, fix } = found;
  const about = [object, field].filter((part) => part !== undefined).join(': ');
  return `${file}:${line}: ${about === '' ? '' : `${about}: `}${problem}; ${fix}`;
}
