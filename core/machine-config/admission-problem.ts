/** A problem that a person must correct before a MachineConfig can roll out. */

export interface AdmissionProblem {
  readonly machineConfig: string;
  /** `spec.config.storage.files[0].path`. */
  readonly field: string;
  /** Without contents of the config. */
  readonly problem: string;
  readonly fix: string;
}

export type Report = (field: string, problem: string, fix: string) => void;

/** `spec.config.storage.files[0].path` of a path in the Ignition config. */
export function configField(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (field, step) => (typeof step === 'number' ? `${field}[${step}]` : `${field}.${step}`),
    'spec.config',
  );
}

/** One line: object, field, problem, fix. */
export function describeProblem(problem: AdmissionProblem): string {
  const { machineConfig, field } = problem;
  return `MachineConfig ${machineConfig}: ${field}: ${problem.problem}; ${problem.fix}`;
}
