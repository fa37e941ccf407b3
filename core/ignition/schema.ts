/**
 * Describes a version of the Ignition specification: structs with fields, as the Go types of
 * coreos/ignition declare them. Reading, merging, writing and comparing follow this one
 * description.
 */

/** A decoded struct. Absent keys are Go's nil pointers, nil slices and zero structs. */
export type IgnitionObject = Readonly<Record<string, unknown>>;

export interface FieldSchema {
  readonly name: string;
  readonly kind: 'string' | 'bool' | 'int' | 'struct';
  readonly struct?: StructSchema;
  readonly list: boolean;
  /** Not a pointer in Go: absent means the zero value, and a merge takes the child's. */
  readonly plain: boolean;
  /** Written even when it is the zero value. */
  readonly always: boolean;
  /** A pointer to a struct: `{}` differs from absent. */
  readonly pointer: boolean;
  /** Go type, for the texts of type errors. */
  readonly goType: string;
  /** Embedded Go struct through which the field is promoted, for the same texts. */
  readonly via?: string;
  /**
   * Lists: entries of equal key merge and may not repeat; fields with the same handle share keys.
   * Absent = entries are only appended.
   */
  readonly handle?: string;
}

export interface StructSchema {
  readonly goName: string;
  readonly fields: readonly FieldSchema[];
  readonly byName: ReadonlyMap<string, FieldSchema>;
  readonly key: (value: IgnitionObject) => string;
}

/** List fields without an explicit handle get their own. */
export function struct(
  goName: string,
  fields: readonly FieldSchema[],
  key: (value: IgnitionObject) => string = () => '',
): StructSchema {
  return { goName, fields, key, byName: new Map(fields.map((field) => [field.name, field])) };
}

const SCALAR = { list: false, plain: false, always: false, pointer: false } as const;

/** `*string` with omitempty. */
export function text(name: string): FieldSchema {
  return { ...SCALAR, name, kind: 'string', goType: 'string' };
}

/** `string`, written always unless `omitEmpty`. */
export function plainText(name: string, omitEmpty = false): FieldSchema {
  return { ...text(name), plain: true, always: !omitEmpty };
}

/** `*bool` with omitempty. */
export function flag(name: string): FieldSchema {
  return { ...SCALAR, name, kind: 'bool', goType: 'bool' };
}

/** `bool` with omitempty. */
export function plainFlag(name: string): FieldSchema {
  return { ...flag(name), plain: true };
}

/** `*int` with omitempty. */
export function integer(name: string): FieldSchema {
  return { ...SCALAR, name, kind: 'int', goType: 'int' };
}

/** `int` with omitempty. */
export function plainInteger(name: string): FieldSchema {
  return { ...integer(name), plain: true };
}

/** A list of strings that are their own keys; `types.X` names the element in Go. */
export function texts(name: string, goElement: string, handle: string | null = name): FieldSchema {
  const merge = handle === null ? {} : { handle };
  return { ...SCALAR, name, kind: 'string', list: true, goType: `[]types.${goElement}`, ...merge };
}

export function nested(name: string, schema: StructSchema, pointer = false): FieldSchema {
  const goType = `types.${schema.goName}`;
  return { ...SCALAR, name, kind: 'struct', struct: schema, goType, pointer };
}

export function many(
  name: string,
  schema: StructSchema,
  handle: string | null = name,
): FieldSchema {
  return {
    ...nested(name, schema),
    list: true,
    goType: `[]types.${schema.goName}`,
    ...(handle === null ? {} : { handle }),
  };
}

/** Fields that Go promotes from an embedded struct. */
export function embedded(via: string, fields: readonly FieldSchema[]): readonly FieldSchema[] {
  return fields.map((field) => ({ ...field, via }));
}

export function entryKey(field: FieldSchema, entry: unknown): string {
  return field.struct === undefined ? (entry as string) : field.struct.key(entry as IgnitionObject);
}

/** A decoded string, empty when absent. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function without(value: IgnitionObject, ...names: readonly string[]): IgnitionObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}
