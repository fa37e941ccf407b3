import { z } from 'zod';

type Path = readonly (string | number)[];

interface StoredForm {
  readonly value: unknown;
  /** The API server drops fields that the schema lacks, or refuses them in strict mode. */
  readonly unknown: readonly Path[];
}

/** Slipway does not read these; the last two come from old exports. */
const METADATA = [
  'generateName',
  'namespace',
  'selfLink',
  'managedFields',
  'deletionGracePeriodSeconds',
  'clusterName',
  'initializers',
];

/**
 * Without unknown fields and null fields. A null label or annotation is empty; null entries of
 * other maps are dropped, and so is an empty map of labels or annotations.
 *
 * @param keeps - whether unknown fields directly below this path are kept
 * @see
 *   https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
export function storedForm(
  schema: z.ZodType,
  object: unknown,
  keeps: (path: Path) => boolean,
): StoredForm {
  const unknown: Path[] = [];
  const walk = (type: unknown, value: unknown, path: Path): unknown => {
    const inner = unwrapped(type);
    if (inner instanceof z.ZodArray && Array.isArray(value)) {
      return value.map((item, i) => walk(inner.element, item, [...path, i]));
    }
    if (inner instanceof z.ZodRecord && isRecord(value)) return storedMap(inner, value, path);
    if (!(inner instanceof z.ZodObject) || !isRecord(value)) return value;
    const fields: [string, unknown][] = [];
    for (const [name, entry] of Object.entries(value)) {
      const field = fieldOf(inner, name);
      const at = [...path, name];
      if (entry === null || isEmptyMap(at, entry)) continue;
      if (field === undefined && !isMetadata(at) && !keeps(path)) unknown.push(at);
      else fields.push([name, walk(field, entry, at)]);
    }
    return Object.fromEntries(fields);
  };
  return { value: walk(schema, object, []), unknown };
}

function storedMap(type: z.ZodRecord, map: Readonly<Record<string, unknown>>, path: Path): unknown {
  if (!(type.valueType instanceof z.ZodString)) return map;
  const entries = Object.entries(map);
  return Object.fromEntries(
    path[0] === 'metadata'
      ? entries.map(([key, value]) => [key, value ?? ''])
      : entries.filter(([, value]) => value !== null),
  );
}

function fieldOf(schema: z.ZodObject, name: string): unknown {
  return Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
}

function isMetadata(path: Path): boolean {
  return path.length === 2 && path[0] === 'metadata' && METADATA.includes(String(path[1]));
}

function isEmptyMap(path: Path, value: unknown): boolean {
  const isOfMetadata = path.length === 2 && path[0] === 'metadata';
  return isOfMetadata && isRecord(value) && Object.keys(value).length === 0;
}

function unwrapped(type: unknown): unknown {
  if (type instanceof z.ZodExactOptional || type instanceof z.ZodNullable) {
    return unwrapped(type.def.innerType);
  }
  return type instanceof z.ZodPipe ? unwrapped(type.def.in) : type;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
