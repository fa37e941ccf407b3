/** What a person must correct in a manifest, with its place. Never quotes contents of a config. */

export interface ManifestProblem {
  /** As it was found: the given directory and the path below it. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** `MachineConfig 99-ssh`; absent when the text cannot be read that far. */
  readonly object?: string;
  /** `spec.config.storage.files[0].path`; absent = the whole object. */
  readonly field?: string;
  readonly problem: string;
  /** What to write instead. */
  readonly fix: string;
}

/** One line that an editor and a CI log can jump to. */
export function describeManifestProblem(found: ManifestProblem): string {
  const { file, line, object, field, problem, fix } = found;
  const about = [object, field].filter((part) => part !== undefined).join(': ');
  return `${file}:${line}: ${about === '' ? '' : `${about}: `}${problem}; ${fix}`;
}
