/** A fault that a person must correct in a manifest, with its place. Never quotes a config. */

export interface ManifestProblem {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** `MachineConfig 99-ssh`; absent when the text is unreadable. */
  readonly object?: string;
  /** `spec.config.storage.files[0].path`; absent: the whole object. */
  readonly field?: string;
  readonly problem: string;
  readonly fix: string;
}

/** One line with a place that editors and CI logs can open. */
export function describeManifestProblem(found: ManifestProblem): string {
  const { file, line, object, field, problem, fix } = found;
  const about = [object, field].filter((part) => part !== undefined).join(': ');
  return `${file}:${line}: ${about === '' ? '' : `${about}: `}${problem}; ${fix}`;
}
