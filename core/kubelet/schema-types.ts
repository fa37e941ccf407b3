/**
 * A Go struct as data: what decides how Go reads it from JSON, merges and writes it.
 *
 * Values are plain data: integers are `bigint`, durations `bigint` nanoseconds, quantities and times
 * their canonical text. A field that is absent has its zero value.
 */

export type GoType =
  | { readonly kind: 'string' | 'bool' | 'float64'; readonly go: string }
  | { readonly kind: 'int'; readonly go: string; readonly bits: 32 | 64; readonly signed: boolean }
  /** metav1.Duration, in JSON a text such as `1m0s`. */
  | { readonly kind: 'duration' }
  /** TimeOrMetaDuration: nanoseconds or such a text, and written as it was read. */
  | { readonly kind: 'time-or-duration' }
  /** resource.Quantity. */
  | { readonly kind: 'quantity' }
  /** metav1.Time, RFC 3339. */
  | { readonly kind: 'time' }
  | { readonly kind: 'list' | 'map'; readonly go: string; readonly of: GoType }
  | GoStructType;

export interface GoStructType {
  readonly kind: 'struct';
  /** With its package, as in errors: `v1beta1.KubeletConfiguration`. */
  readonly go: string;
  readonly fields: readonly GoField[];
}

export interface GoField {
  /** In JSON. */
  readonly name: string;
  readonly type: GoType;
  /** Absent and zero are two things. */
  readonly pointer: boolean;
  /** Not written when zero, unless it is a struct. */
  readonly omitEmpty: boolean;
  /** The embedded struct that has the field; errors name it. */
  readonly embedded?: string;
}

export interface TimeOrDuration {
  readonly nanoseconds: bigint;
  readonly asText: boolean;
}

export type GoValue =
  string | boolean | number | bigint | null | TimeOrDuration | readonly GoValue[] | GoFields;

/** A struct or a map. */
export interface GoFields {
  readonly [name: string]: GoValue | undefined;
}

export const STRING: GoType = { kind: 'string', go: 'string' };
export const BOOL: GoType = { kind: 'bool', go: 'bool' };
export const FLOAT64: GoType = { kind: 'float64', go: 'float64' };
export const INT32: GoType = { kind: 'int', go: 'int32', bits: 32, signed: true };
export const INT64: GoType = { kind: 'int', go: 'int64', bits: 64, signed: true };
export const DURATION: GoType = { kind: 'duration' };
export const QUANTITY: GoType = { kind: 'quantity' };

export function named(go: string): GoType {
  return { kind: 'string', go };
}

export function listOf(of: GoType, go = `[]${goName(of)}`): GoType {
  return { kind: 'list', go, of };
}

export function mapOf(of: GoType, go = `map[string]${goName(of)}`): GoType {
  return { kind: 'map', go, of };
}

export function struct(go: string, fields: readonly GoField[]): GoStructType {
  return { kind: 'struct', go, fields };
}

/** `omitempty`, as most fields. */
export function field(name: string, type: GoType): GoField {
  return { name, type, pointer: false, omitEmpty: true };
}

export function pointer(name: string, type: GoType): GoField {
  return { name, type, pointer: true, omitEmpty: true };
}

/** Always written. */
export function always(name: string, type: GoType): GoField {
  return { name, type, pointer: false, omitEmpty: false };
}

export function embedded(struct: string, fields: readonly GoField[]): readonly GoField[] {
  return fields.map((each) => ({ ...each, embedded: struct }));
}

/** The type in errors of Go's decoder. */
export function goName(type: GoType): string {
  if ('go' in type) return type.go;
  return {
    duration: 'v1.Duration',
    'time-or-duration': 'v1.TimeOrMetaDuration',
    quantity: 'resource.Quantity',
    time: 'v1.Time',
  }[type.kind];
}
