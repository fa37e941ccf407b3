/** Common parts of rules about structs. */

import type { IgnitionObject } from './schema';
import type { Minor } from './schema-v3';

/** Paths are relative to the struct of the rule; no message means no finding. */
export interface Findings {
  readonly minor: Minor;
  error(message: string | undefined, ...path: (string | number)[]): void;
  warning(message: string | undefined, ...path: (string | number)[]): void;
}

export type Rule = (value: IgnitionObject, findings: Findings) => void;

export function listOf(value: unknown): readonly IgnitionObject[] {
  return (value as readonly IgnitionObject[] | undefined) ?? [];
}

export function structOf(value: unknown): IgnitionObject {
  return (value as IgnitionObject | undefined) ?? {};
}

export function textOf(value: unknown): string | undefined {
  return value as string | undefined;
}
