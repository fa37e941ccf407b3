/**
 * From JSON values to the structs of a schema, like Go's `encoding/json`: unknown keys are dropped,
 * keys match without regard to case, null is absent, a wrong type is an error.
 */

import type { FieldSchema, IgnitionObject, StructSchema } from './schema';

/** A value of the wrong type, in Go's words. */
export class TypeMismatch extends Error {
  override readonly name = 'TypeMismatch';
  constructor(
    message: string,
    /** Keys and indexes as written in the document. */
    readonly path: readonly (string | number)[],
    readonly value: unknown,
  ) {
    super(message);
  }
}

/**
 * The struct of a JSON value. Nested structs without any set field are left out.
 *
 * @param go - Go type of the root, for the texts of errors
 * @throws TypeMismatch at the first value of a wrong type, in document order
 */
export function decodeStruct(value: unknown, schema: StructSchema, go: string): IgnitionObject {
  const place: Place = { path: [], fields: [], struct: '', rootType: go };
  return decodeObject(value, schema, place, `types.${schema.goName}`) ?? {};
}

interface Place {
  readonly path: (string | number)[];
  /** Dotted Go path of JSON names and embedded structs. */
  readonly fields: string[];
  /** Innermost Go struct whose field is being read. */
  readonly struct: string;
  readonly rootType: string;
}

function decodeObject(
  value: unknown,
  schema: StructSchema,
  place: Place,
  goType: string,
): IgnitionObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw mismatch(value, place, place.fields.length === 0 ? place.rootType : goType);
  }
  const found: Record<string, unknown> = {};
  const inner: Place = { ...place, struct: schema.goName };
  for (const key of Object.keys(value)) {
    const field = schema.byName.get(key) ?? foldedField(schema, key);
    if (field === undefined) continue;
    const child = (value as Record<string, unknown>)[key];
    if (child === null || child === undefined) continue;
    place.path.push(key);
    const depth = place.fields.length;
    if (field.via !== undefined) place.fields.push(field.via);
    place.fields.push(field.name);
    const decoded = decodeField(child, field, inner);
    if (decoded !== undefined) found[field.name] = decoded;
    place.fields.length = depth;
    place.path.pop();
  }
  return inSchemaOrder(found, schema);
}

/**
 * Schema order, so that equal structs give equal texts; plain strings that are always written are
 * added.
 */
function inSchemaOrder(found: Record<string, unknown>, schema: StructSchema): IgnitionObject {
  const ordered: Record<string, unknown> = {};
  for (const field of schema.fields) {
    const value = found[field.name];
    if (value !== undefined) ordered[field.name] = value;
    else if (field.plain && field.always) ordered[field.name] = '';
  }
  return ordered;
}

function foldedField(schema: StructSchema, key: string): FieldSchema | undefined {
  const lower = key.toLowerCase();
  return schema.fields.find((field) => field.name.toLowerCase() === lower);
}

function decodeField(value: unknown, field: FieldSchema, place: Place): unknown {
  if (!field.list) return decodeSingle(value, field, place, field.goType);
  if (!Array.isArray(value)) throw mismatch(value, place, field.goType);
  const element = field.goType === 'types.HTTPHeaders' ? 'types.HTTPHeader' : field.goType.slice(2);
  return value.map((item: unknown, index) => {
    place.path.push(index);
    const decoded = item === null ? zero(field) : decodeElement(item, field, place, element);
    place.path.pop();
    return decoded;
  });
}

function decodeElement(item: unknown, field: FieldSchema, place: Place, element: string): unknown {
  if (field.struct !== undefined) return decodeObject(item, field.struct, place, element);
  return decodeScalar(item, field, place, element);
}

function zero(field: FieldSchema): unknown {
  return field.struct === undefined ? '' : inSchemaOrder({}, field.struct);
}

function decodeSingle(value: unknown, field: FieldSchema, place: Place, goType: string): unknown {
  if (field.struct !== undefined) {
    const decoded = decodeObject(value, field.struct, place, goType);
    const unset = decoded === undefined || Object.keys(decoded).length === 0;
    return unset && !field.pointer ? undefined : decoded;
  }
  const scalar = decodeScalar(value, field, place, goType);
  const isZero = scalar === '' || scalar === 0 || scalar === false;
  return field.plain && !field.always && isZero ? undefined : scalar;
}

function decodeScalar(value: unknown, field: FieldSchema, place: Place, goType: string): unknown {
  if (field.kind === 'string' && typeof value === 'string') return value;
  if (field.kind === 'bool' && typeof value === 'boolean') return value;
  if (field.kind === 'int' && Number.isInteger(value)) return value;
  throw mismatch(value, place, goType);
}

function mismatch(value: unknown, place: Place, goType: string): TypeMismatch {
  const where =
    place.fields.length === 0
      ? 'Go value'
      : `Go struct field ${place.struct}.${place.fields.join('.')}`;
  const got = describe(value, goType);
  const message = `json: cannot unmarshal ${got} into ${where} of type ${goType}`;
  return new TypeMismatch(message, [...place.path], value);
}

function describe(value: unknown, goType: string): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' && goType === 'int') return `number ${value}`;
  return typeof value;
}
