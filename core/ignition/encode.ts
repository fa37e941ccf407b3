/**
 * From structs to plain JSON values in Go's field order, without what Go's encoder leaves out (with
 * `omitempty` of structs, as in MCO's fork).
 */

import type { FieldSchema, IgnitionObject, StructSchema } from './schema';

/** A plain JSON object: no empty lists, no empty structs, keys in the order of the schema. */
export function encodeStruct(value: IgnitionObject, schema: StructSchema): IgnitionObject {
  const out: Record<string, unknown> = {};
  for (const field of schema.fields) {
    const encoded = encodeField(value[field.name], field);
    if (encoded !== undefined) out[field.name] = encoded;
  }
  return out;
}

function encodeField(value: unknown, field: FieldSchema): unknown {
  if (field.list) {
    const list = value as readonly unknown[] | undefined;
    if (list === undefined || list.length === 0) return undefined;
    const { struct } = field;
    return struct === undefined
      ? list
      : list.map((item) => encodeStruct(item as IgnitionObject, struct));
  }
  if (field.struct === undefined) return value;
  if (value === undefined) return field.always ? {} : undefined;
  const encoded = encodeStruct(value as IgnitionObject, field.struct);
  return Object.keys(encoded).length === 0 && !field.always ? undefined : encoded;
}
