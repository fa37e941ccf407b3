import type { ManifestObject, ManifestProblem, Step } from '../../adapters/manifests';
import { fieldText } from '../../core/field-path';

/**
 * An error would degrade a pool or is refused by the API; a warning is about a possible mistake; a
 * note explains something correct.
 */
type Severity = 'error' | 'warning' | 'note';

export interface Finding extends ManifestProblem {
  readonly severity: Severity;
}

export class Findings {
  readonly #all = new Map<string, Finding>();

  get all(): readonly Finding[] {
    return [...this.#all.values()].sort(byPlace);
  }

  get hasErrors(): boolean {
    return this.all.some(({ severity }) => severity === 'error');
  }

  add(finding: Finding): void {
    const { file, line, column, object, field, problem } = finding;
    const key = JSON.stringify([file, line, column, object, field, problem]);
    if (!this.#all.has(key)) this.#all.set(key, finding);
  }

  /** An empty path is the whole object. */
  error(object: ManifestObject, path: readonly Step[], problem: string, fix: string): void {
    this.add({ severity: 'error', ...at(object, path), problem, fix });
  }

  warning(object: ManifestObject, path: readonly Step[], problem: string, fix: string): void {
    this.add({ severity: 'warning', ...at(object, path), problem, fix });
  }

  note(object: ManifestObject, path: readonly Step[], problem: string, fix: string): void {
    this.add({ severity: 'note', ...at(object, path), problem, fix });
  }
}

function at(
  object: ManifestObject,
  path: readonly Step[],
): Omit<Finding, 'severity' | 'problem' | 'fix'> {
  return {
    file: object.file,
    ...object.placeOf(path),
    object: `${object.kind} ${object.name}`.trim(),
    ...(path.length === 0 ? {} : { field: fieldText(path) }),
  };
}

/** The steps of `spec.config.storage.files[0].path`. */
export function fieldPath(field: string): readonly Step[] {
  const steps = field.match(/[^.[\]]+|\[\d+\]/g) ?? [];
  return steps.map((step) => (step.startsWith('[') ? Number(step.slice(1, -1)) : step));
}

function byPlace(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
