/**
 * Fields of a KubeletConfiguration. Absent, null, or of another type than the field has = undefined,
 * an empty list or an empty map.
 */

import { isRecord } from '../../is-record';
import { goDurationOf } from '../../encoding/go-duration';

type Json = Readonly<Record<string, unknown>>;

export function valueAt(config: Json, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), config);
}

export function textAt(config: Json, ...path: readonly string[]): string | undefined {
  const value = valueAt(config, ...path);
  return typeof value === 'string' ? value : undefined;
}

export function numberAt(config: Json, ...path: readonly string[]): number | undefined {
  const value = valueAt(config, ...path);
  return typeof value === 'number' ? value : undefined;
}

export function flagAt(config: Json, ...path: readonly string[]): boolean | undefined {
  const value = valueAt(config, ...path);
  return typeof value === 'boolean' ? value : undefined;
}

export function recordAt(config: Json, ...path: readonly string[]): Json | undefined {
  const value = valueAt(config, ...path);
  return isRecord(value) ? value : undefined;
}

export function listAt(config: Json, ...path: readonly string[]): readonly unknown[] {
  const value: unknown = valueAt(config, ...path);
  return Array.isArray(value) ? value : [];
}

/** With its index in the list. */
export function textsAt(config: Json, ...path: readonly string[]): readonly [string, number][] {
  return listAt(config, ...path).flatMap((entry, i): [string, number][] =>
    typeof entry === 'string' ? [[entry, i]] : [],
  );
}

export function textEntriesAt(
  config: Json,
  ...path: readonly string[]
): readonly [string, string][] {
  return Object.entries(recordAt(config, ...path) ?? {}).flatMap(
    ([key, value]): [string, string][] => (typeof value === 'string' ? [[key, value]] : []),
  );
}

/** In nanoseconds; undefined also for a text that is no duration. */
export function durationAt(config: Json, ...path: readonly string[]): bigint | undefined {
  const text = textAt(config, ...path);
  return text === undefined ? undefined : goDurationOf(text);
}
