/**
 * Runs the rules of specification 2. Its reports show places by quoting the document; entries
 * without a place take that of the next enclosing struct.
 *
 * @see MCO vendor/github.com/coreos/ignition/config/validate/validate.go (7ff337a4)
 */

import type { JsonNode, JsonSource } from './json-source';
import { listOf } from './rules';
import { FIELD_RULES_V2, STRUCT_RULES_V2, type ContextV2, type EntryV2 } from './rules-v2';
import type { FieldSchema, IgnitionObject, StructSchema } from './schema';

interface PlacedEntryV2 extends EntryV2 {
  /** Index in the document; absent = no place. */
  readonly at?: number;
  /** Whether the document is quoted up to that index. */
  readonly quoted?: boolean;
}

/** All entries, in the order of Ignition's report. */
export function validateV2(
  config: IgnitionObject,
  schema: StructSchema,
  context: ContextV2,
  source?: JsonSource,
): readonly PlacedEntryV2[] {
  return visitStruct(config, schema, source?.root, context);
}

export function formatReportV2(entries: readonly PlacedEntryV2[], source?: JsonSource): string {
  return entries
    .map(({ kind, message, at, quoted }) => {
      if (at === undefined || source === undefined) return `${kind}: ${message}`;
      const { where, lines } = source.excerpt(at);
      return `${kind} at ${where}\n${quoted === true ? lines : ''}${message}`;
    })
    .join('\n');
}

function placed(
  entries: readonly PlacedEntryV2[],
  at: number | undefined,
  quoted: boolean,
): readonly PlacedEntryV2[] {
  if (at === undefined) return entries;
  return entries.map((entry) => (entry.at === undefined ? { ...entry, at, quoted } : entry));
}

const endOf = (node: JsonNode | undefined): number | undefined =>
  node === undefined ? undefined : node.end - 1;

function visitStruct(
  value: IgnitionObject,
  schema: StructSchema,
  node: JsonNode | undefined,
  context: ContextV2,
): readonly PlacedEntryV2[] {
  const rule = STRUCT_RULES_V2[schema.goName];
  const own = placed(rule?.(value, context) ?? [], endOf(node), true);
  if (own.some((entry) => entry.kind === 'error')) return own;
  const inner = visitFields(value, schema, node, context);
  return [...own, ...placed(inner, endOf(node), false)];
}

function visitFields(
  value: IgnitionObject,
  schema: StructSchema,
  node: JsonNode | undefined,
  context: ContextV2,
): readonly PlacedEntryV2[] {
  const entries: PlacedEntryV2[] = [];
  for (const field of schema.fields) {
    const child = node?.members?.get(field.name)?.value;
    let at = child === undefined ? undefined : endOf(node);
    const rule = FIELD_RULES_V2[schema.goName]?.[field.name];
    if (rule !== undefined) {
      at = endOf(child) ?? at;
      entries.push(...placed(rule(value, context), at, true));
    }
    entries.push(...placed(visitValue(value[field.name], field, child, context), at, true));
  }
  return [...entries, ...unknownKeys(schema, node)];
}

function visitValue(
  value: unknown,
  field: FieldSchema,
  node: JsonNode | undefined,
  context: ContextV2,
): readonly PlacedEntryV2[] {
  const { struct } = field;
  if (struct === undefined) return [];
  if (!field.list) {
    // A struct without set fields was left out, but its keys may be unknown.
    const present = value ?? (node?.members === undefined ? undefined : {});
    return present === undefined
      ? []
      : visitStruct(present as IgnitionObject, struct, node, context);
  }
  return listOf(value).flatMap((item, i) => {
    const entries = visitStruct(item, struct, node?.items?.[i], context);
    return placed(entries, endOf(node), false);
  });
}

function unknownKeys(schema: StructSchema, node: JsonNode | undefined): readonly PlacedEntryV2[] {
  const entries: PlacedEntryV2[] = [];
  for (const [key, { keyEnd }] of node?.members ?? []) {
    if (schema.byName.has(key)) continue;
    const place = { at: keyEnd, quoted: true };
    entries.push({ kind: 'warning', message: `Config has unrecognized key: ${key}`, ...place });
    const similar = schema.fields.find((f) => f.name.toLowerCase() === key.toLowerCase());
    if (similar === undefined) continue;
    const message = `Did you mean ${similar.name} instead of ${key}`;
    entries.push({ kind: 'info', message, ...place });
  }
  return entries;
}
