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
 * @param document - the JSON value from which `config` was decoded
 */
export function unusedKeys(
  document: unknown,
  config: IgnitionObject,
  minor: Minor,
): readonly Finding[] {
  const findings: Finding[] = [];
  walk(config, schemaV3(minor), [], (_, schema, path) => {
    const node = lookUp(document, path);
    if (typeof node !== 'object' || node === null) return;
    for (const key of Object.keys(node)) {
      if (schema.byName.has(key)) continue;
      const message = `unused key ${key}`;
      findings.push({ severity: 'warning', path: [...path, key], message, key: true });
    }
  });
  return findings;
}

function lookUp(document: unknown, path: Path): unknown {
  let node = document;
  for (const step of path) {
    if (typeof node !== 'object' || node === null) return undefined;
    node = (node as Readonly<Record<string | number, unknown>>)[step];
  }
  return node;
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
