/** What the rules of a KubeletConfiguration share. */

import type { FieldStep } from '../../field-path';
import type { FieldProblem } from '../../field-problem';

/** Reservations that reach the kubelet beside its file: by flag, or from the machine. */
export interface ReservationsBeside {
  /** The flag `--system-reserved`, which replaces `systemReserved` of the file as a whole. */
  readonly systemReserved?: Readonly<Record<string, string>>;
  /** True = the machine itself adds cpu and memory to `--system-reserved`. */
  readonly sizedByItself?: boolean;
}

/** What a rule looks at. */
export interface Facts {
  readonly config: Readonly<Record<string, unknown>>;
  /** False for a gate that the kubelet does not know. */
  readonly isEnabled: (gate: string) => boolean;
  readonly beside: ReservationsBeside;
}

export type Rule = (facts: Facts) => readonly FieldProblem[];

export function problemAt(path: readonly FieldStep[], problem: string, fix: string): FieldProblem {
  return { path, problem, fix };
}

/** A value in a message. */
export function shown(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing');
}

/** "a", "b" or "c" */
export function anyOf(values: readonly string[]): string {
  const quoted = values.map(shown);
  const last = quoted.at(-1) ?? '';
  return quoted.length < 2 ? last : `${quoted.slice(0, -1).join(', ')} or ${last}`;
}

/** None when the value is absent, empty (= the default) or allowed. */
export function unlessOneOf(
  path: readonly FieldStep[],
  value: string | undefined,
  allowed: readonly string[],
): readonly FieldProblem[] {
  if (value === undefined || value === '' || allowed.includes(value)) return [];
  return [problemAt(path, `is ${shown(value)}, which is unknown`, `write ${anyOf(allowed)}`)];
}
