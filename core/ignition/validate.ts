/**
 * Runs the rules over a decoded config: first each struct's own rules from the root down, then
 * duplicate entries, then keys that the specification does not know. Errors make a config invalid;
 * warnings only appear beside errors.
 */

import type { Finding } from './report';
import { listOf, type Findings } from './rules';
import { ELEMENT_RULES, RULES } from './rules-v3';
import { FINDING } from './rules-text';
import { entryKey, type IgnitionObject, type StructSchema } from './schema';
import { schemaV3, type Minor } from './schema-v3';

type Path = readonly (string | number)[];
type Visitor = (value: IgnitionObject, schema: StructSchema, path: Path) => void;

/** Findings of a config of version `3.<minor>.0`, in the order of Ignition's report. */
export function validateV3(config: IgnitionObject, minor: Minor): readonly Finding[] {
  const findings: Finding[] = [];
  walk(
    config,
    schemaV3(minor),
    [],
    (value, schema, path) => {
      RULES[schema.goName]?.(value, collector(findings, path, minor));
    },
    (message, path) => findings.push({ severity: 'error', path, message }),
  );
  walk(config, schemaV3(minor), [], (value, schema, path) => {
    findDuplicates(value, schema, path, findings);
  });
  return findings;
}

/**
 * Keys of a document that the version does not know, as warnings.
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

function collector(findings: Finding[], base: Path, minor: Minor): Findings {
  const add = (severity: Finding['severity'], message: string | undefined, path: Path): void => {
    if (message !== undefined) findings.push({ severity, path: [...base, ...path], message });
  };
  return {
    minor,
    error: (message, ...path) => {
      add('error', message, path);
    },
    warning: (message, ...path) => {
      add('warning', message, path);
    },
  };
}

function walk(
  value: IgnitionObject,
  schema: StructSchema,
  path: Path,
  visit: Visitor,
  report?: (message: string, path: Path) => void,
): void {
  visit(value, schema, path);
  for (const field of schema.fields) {
    const child = value[field.name];
    if (child === undefined) continue;
    const { struct } = field;
    if (struct === undefined) {
      const rule = field.list ? ELEMENT_RULES[field.goType] : undefined;
      if (rule === undefined || report === undefined) continue;
      (child as readonly string[]).forEach((item, i) => {
        const message = rule(item);
        if (message !== undefined) report(message, [...path, field.name, i]);
      });
    } else if (field.list) {
      listOf(child).forEach((item, i) => {
        walk(item, struct, [...path, field.name, i], visit, report);
      });
    } else walk(child as IgnitionObject, struct, [...path, field.name], visit, report);
  }
}

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
}
