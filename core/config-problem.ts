/** Problems of objects that are accepted as they are. */

export interface ConfigProblem {
  /** Field in the object: `spec.registrySources.insecureRegistries[0]`. */
  readonly path: string;
  /** What is wrong with it, without a full stop. */
  readonly problem: string;
  /** What a person should do. */
  readonly fix: string;
}

/** One line: field, problem, fix. */
export function describeConfigProblem({ path, problem, fix }: ConfigProblem): string {
  return `${path}: ${problem}; ${fix}`;
}
