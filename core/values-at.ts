/**
 * Fields below a value of any shape. Where there is none of the type that is asked for, also for null:
 * undefined, an empty list or an empty map.
 */

import type { FieldStep } from './field-path';
import { isRecord } from './is-record';

type Json = Readonly<Record<string, unknown>>;

export function valueAt(object: unknown, ...path: readonly FieldStep[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), object);
}

export function textAt(object: unknown, ...path: readonly FieldStep[]): string | undefined {
  const value = valueAt(object, ...path);
  return typeof value === 'string' ? value : undefined;
}

export function numberAt(object: unknown, ...path: readonly FieldStep[]): number | undefined {
  const value = valueAt(object, ...path);
  return typeof value === 'number' ? value : undefined;
}

export function flagAt(object: unknown, ...path: readonly FieldStep[]): boolean | undefined {
  const value = valueAt(object, ...path);
  return typeof value === 'boolean' ? value : undefined;
}

export function recordAt(object: unknown, ...path: readonly FieldStep[]): Json | undefined {
  const value = valueAt(object, ...path);
  return isRecord(value) ? value : undefined;
}

export function listAt(object: unknown, ...path: readonly FieldStep[]): readonly unknown[] {
  const value: unknown = valueAt(object, ...path);
  return Array.isArray(value) ? value : [];
}

/** With its index in the list. */
export function textsAt(
  object: unknown,
  ...path: readonly FieldStep[]
): readonly [string, number][] {
  return listAt(object, ...path).flatMap((entry, i): [string, number][] =>
    typeof entry === 'string' ? [[entry, i]] : [],
  );
}

export function textEntriesAt(
  object: unknown,
  ...path: readonly FieldStep[]
): readonly [string, string][] {
  return Object.entries(recordAt(object, ...path) ?? {}).flatMap(
    ([key, value]): [string, string][] => (typeof value === 'string' ? [[key, value]] : []),
  );
}
