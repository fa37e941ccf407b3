/**
 * The merge of Ignition 3.5: list entries merge by key in the parent's order; present scalars of
 * the child win. Configs are folded into one accumulator of keyed maps, which keep the specified
 * order, so the cost is the sum of the children.
 *
 * @see MCO vendor/github.com/coreos/ignition/v2/config/merge/merge.go (7ff337a4)
 */

import { entryKey, type FieldSchema, type IgnitionObject, type StructSchema } from './schema';

/** Merges the configs one after the other onto the first; inputs are not changed. */
export function mergeStructs(
  configs: readonly IgnitionObject[],
  schema: StructSchema,
): IgnitionObject {
  const [base, ...children] = configs;
  if (base === undefined) return {};
  if (children.length === 0) return base;
  const accumulator = new StructAccumulator(schema, base);
  for (const child of children) accumulator.add(child);
  return accumulator.result();
}

type List = Map<string, unknown> | unknown[];

class StructAccumulator {
  readonly #schema: StructSchema;
  readonly #scalars: Record<string, unknown> = {};
  readonly #structs = new Map<string, StructAccumulator>();
  readonly #lists = new Map<string, List>();

  constructor(schema: StructSchema, base: IgnitionObject) {
    this.#schema = schema;
    for (const field of schema.fields) this.#set(field, base[field.name]);
  }

  #set(field: FieldSchema, value: unknown): void {
    if (value === undefined) return;
    if (field.list) this.#lists.set(field.name, toList(field, value as readonly unknown[]));
    else if (field.struct === undefined) this.#scalars[field.name] = value;
    else {
      const nested = new StructAccumulator(field.struct, value as IgnitionObject);
      this.#structs.set(field.name, nested);
    }
  }

  add(child: IgnitionObject): void {
    this.#removeShadowed(child);
    for (const field of this.#schema.fields) {
      const value = child[field.name];
      if (field.list) this.#addToList(field, (value as readonly unknown[] | undefined) ?? []);
      else if (field.struct !== undefined) this.#addStruct(field, value);
      else if (value !== undefined) this.#scalars[field.name] = value;
      else if (field.plain) delete this.#scalars[field.name];
    }
  }

  #addStruct(field: FieldSchema, value: unknown): void {
    if (value === undefined) return;
    const nested = this.#structs.get(field.name);
    if (nested === undefined) this.#set(field, value);
    else nested.add(value as IgnitionObject);
  }

  /** An entry of the child removes entries of the same key in lists that share its handle. */
  #removeShadowed(child: IgnitionObject): void {
    for (const field of this.#schema.fields) {
      const value = child[field.name] as readonly unknown[] | undefined;
      if (!field.list || field.handle === undefined || value === undefined) continue;
      for (const other of this.#schema.fields) {
        if (other === field || other.handle !== field.handle) continue;
        const list = this.#lists.get(other.name);
        if (!(list instanceof Map)) continue;
        for (const item of value) list.delete(entryKey(field, item));
      }
    }
  }

  #addToList(field: FieldSchema, items: readonly unknown[]): void {
    if (items.length === 0) return;
    const list = this.#lists.get(field.name);
    if (list === undefined) this.#lists.set(field.name, toList(field, items));
    else if (list instanceof Map) for (const item of items) addEntry(list, field, item);
    else list.push(...items);
  }

  result(): IgnitionObject {
    const out: Record<string, unknown> = {};
    for (const field of this.#schema.fields) {
      const value = this.#resultOf(field);
      if (value !== undefined) out[field.name] = value;
    }
    return out;
  }

  #resultOf(field: FieldSchema): unknown {
    if (field.list) {
      const list = this.#lists.get(field.name);
      if (list === undefined) return undefined;
      const items = list instanceof Map ? [...list.values()] : list;
      return items.length === 0 ? undefined : items;
    }
    if (field.struct !== undefined) return this.#structs.get(field.name)?.result();
    return this.#scalars[field.name];
  }
}

function toList(field: FieldSchema, items: readonly unknown[]): List {
  if (field.handle === undefined) return [...items];
  return new Map(items.map((item) => [entryKey(field, item), item]));
}

function addEntry(list: Map<string, unknown>, field: FieldSchema, item: unknown): void {
  const key = entryKey(field, item);
  const present = list.get(key);
  if (present === undefined || field.struct === undefined) {
    list.set(key, item);
    return;
  }
  // A header without a value removes the parent's header.
  const removes = field.name === 'httpHeaders' && (item as IgnitionObject)['value'] === undefined;
  if (removes) list.delete(key);
  else {
    const pair = [present as IgnitionObject, item as IgnitionObject];
    list.set(key, mergeStructs(pair, field.struct));
  }
}
