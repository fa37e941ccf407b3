/**
 * Runs the rules over a decoded config: first each struct's rules from the root down, then
 * duplicate entries, then unknown keys. Errors make a config invalid; warnings appear only beside
 * errors.
 */

import type { Finding } from './report';
import { listOf, type Findings } from './rules';
import { ELEMENT_RULES, RULES } from './rules-v3';
import { FINDING } from './rules-text';
import { entryKey, type FieldSchema, type IgnitionObject, type StructSchema } from './schema';
import { schemaV3, type Minor } from './schema-v3';

type Path = readonly (string | number)[];

/** Findings of a config of version `3.<minor>.0`, in the order of Ignition's report. */
export function validateV3(config: IgnitionObject, minor: Minor): readonly Finding[] {
  const findings: Finding[] = [];
  new RuleWalk(findings, minor).struct(config, schemaV3(minor));
  findDuplicates(config, schemaV3(minor), [], findings);
  return findings;
}

/**
 * Keys that the version does not know, as warnings.
 *
 * @param document - a JSON value that decodes without a type error
 */
export function unusedKeys(document: unknown, minor: Minor): readonly Finding[] {
  const findings: Finding[] = [];
  findUnusedKeys(document, schemaV3(minor), [], findings);
  return findings;
}

function findUnusedKeys(
  node: unknown,
  schema: StructSchema,
  path: Path,
  findings: Finding[],
): void {
  const warn = (message: string, at: Path, key: boolean): void => {
    findings.push({ severity: 'warning', path: at, message, key });
  };
  if (typeof node !== 'object' || node === null) {
    const where = ['$', ...path].join('.');
    const advice = 'Line and column reporting may be inconsistent. Unused keys may not be reported';
    warn(`context tree does not match content tree at ${where}. ${advice}`, path, false);
    return;
  }
  const members = node as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(members)) {
    if (!schema.byName.has(key)) warn(`unused key ${key}`, [...path, key], true);
  }
  for (const { name, struct, list, pointer } of schema.fields) {
    const child = members[name];
    if (struct === undefined || child === undefined || (pointer && child === null)) continue;
    if (!list) findUnusedKeys(child, struct, [...path, name], findings);
    else if (Array.isArray(child)) {
      child.forEach((item: unknown, i) => {
        findUnusedKeys(item, struct, [...path, name, i], findings);
      });
    }
  }
}

/** Visits every struct with its rule; the path is copied only for a finding. */
class RuleWalk implements Findings {
  readonly minor: Minor;
  readonly #findings: Finding[];
  readonly #path: (string | number)[] = [];

  constructor(findings: Finding[], minor: Minor) {
    this.#findings = findings;
    this.minor = minor;
  }

  error(message: string | undefined, ...path: (string | number)[]): void {
    if (message !== undefined) this.#add('error', message, path);
  }

  warning(message: string | undefined, ...path: (string | number)[]): void {
    if (message !== undefined) this.#add('warning', message, path);
  }

  #add(severity: Finding['severity'], message: string, path: Path): void {
    this.#findings.push({ severity, path: [...this.#path, ...path], message });
  }

  struct(value: IgnitionObject, schema: StructSchema): void {
    RULES[schema.goName]?.(value, this);
    for (const field of schema.fields) {
      const child = value[field.name];
      if (child === undefined) continue;
      const { struct } = field;
      this.#path.push(field.name);
      if (struct === undefined) {
        if (field.list) this.#strings(field, child as readonly string[]);
      } else if (field.list) {
        listOf(child).forEach((item, i) => {
          this.#path.push(i);
          this.struct(item, struct);
          this.#path.pop();
        });
      } else this.struct(child as IgnitionObject, struct);
      this.#path.pop();
    }
  }

  #strings(field: FieldSchema, items: readonly string[]): void {
    const rule = ELEMENT_RULES[field.goType];
    if (rule === undefined) return;
    items.forEach((item, i) => {
      this.error(rule(item), i);
    });
  }
}

/** Entries whose key an earlier entry of the same handle has, from the root down. */
function findDuplicates(
  value: IgnitionObject,
  schema: StructSchema,
  path: Path,
  findings: Finding[],
): void {
  const seen = new Map<string, Set<string>>();
  for (const field of schema.fields) {
    const list = value[field.name];
    if (!field.list || field.handle === undefined || list === undefined) continue;
    const keys = seen.get(field.handle) ?? new Set<string>();
    seen.set(field.handle, keys);
    (list as readonly unknown[]).forEach((item, i) => {
      const key = entryKey(field, item);
      if (keys.has(key)) {
        const message = FINDING.DUPLICATE;
        findings.push({ severity: 'error', path: [...path, field.name, i], message });
      }
      keys.add(key);
    });
  }
  for (const { name, struct, list } of schema.fields) {
    const child = value[name];
    if (struct === undefined || child === undefined) continue;
    if (!list) findDuplicates(child as IgnitionObject, struct, [...path, name], findings);
    else if (hasKeyedLists(struct)) {
      listOf(child).forEach((item, i) => {
        findDuplicates(item, struct, [...path, name, i], findings);
      });
    }
  }
}

const keyed = new WeakMap<StructSchema, boolean>();

/** Whether a struct holds, at any depth, a list without repetitions. */
function hasKeyedLists(schema: StructSchema): boolean {
  let known = keyed.get(schema);
  if (known === undefined) {
    known = schema.fields.some(
      (field) =>
        (field.list && field.handle !== undefined) ||
        (field.struct !== undefined && hasKeyedLists(field.struct)),
    );
    keyed.set(schema, known);
  }
  return known;
}
