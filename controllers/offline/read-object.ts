/** An object as the API server would store it, or its problems. */

import type { z } from 'zod';
import { storedForm } from '../../adapters/api-schemas/stored-form';
import type { ManifestObject, Step } from '../../adapters/manifests';
import type { KubeObject } from '../../adapters/kube/resources';
import type { Findings } from './findings';
import { OFFLINE_KINDS, type OfflineKind } from './kinds';

/** RFC 1123 subdomain, the form of cluster-scoped names. */
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_KEY =
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Undefined = not a kind of this render. */
export function kindOf({ kind, apiVersion }: ManifestObject): OfflineKind | undefined {
  const group = (version: string): string => version.replace(/\/[^/]*$/, '');
  return OFFLINE_KINDS.find(
    (known) => known.kind === kind && group(known.apiVersion) === group(apiVersion),
  );
}

/** Undefined, with a finding per reason, when the API server would refuse it. */
export function readObject(
  object: ManifestObject,
  kind: OfflineKind,
  findings: Findings,
): KubeObject | undefined {
  let refused = false;
  const refuse: Refuse = (path, problem, fix) => {
    refused = true;
    findings.error(object, path, problem, fix);
  };
  if (object.apiVersion !== kind.apiVersion) {
    refuse(['apiVersion'], 'this version is not served', `write ${kind.apiVersion}`);
  }
  refuseName(object, kind, refuse);
  const written = kind.readsStatus === true ? object.value : withoutStatus(object.value);
  const stored = storedForm(kind.schema, written, (path) => isKept(kind, path.join('.')));
  for (const path of stored.unknown) {
    const fix = 'correct its name or indentation, or remove it';
    findings.warning(object, path, 'unknown field, which the API server drops or refuses', fix);
  }
  const result = kind.schema.safeParse(stored.value);
  if (!result.success) refuseShape(result.error, stored.value, refuse);
  for (const { path, problem, fix } of (result.success && kind.refusals?.(result.data)) || []) {
    refuse(path, problem, fix);
  }
  refuseLabels(object.value, refuse);
  return refused ? undefined : (stored.value as KubeObject);
}

/** Exported objects have a status; nobody can set it. */
function withoutStatus(value: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'status'));
}

type Refuse = (path: readonly Step[], problem: string, fix: string) => void;

function isKept({ keeps }: OfflineKind, path: string): boolean {
  return keeps.some((kept) => path === kept || path.startsWith(`${kept}.`));
}

function refuseName(
  { name }: ManifestObject,
  { onlyName, kind }: OfflineKind,
  refuse: Refuse,
): void {
  const path = ['metadata', 'name'];
  if (name === '') {
    refuse(path, 'the name is missing', 'add it; generateName gives another one each time');
  } else if (name.length > 253 || !NAME.test(name)) {
    const fix = 'use small letters, digits, dashes and dots, with a letter or digit at both ends';
    refuse(path, 'not a name that Kubernetes accepts', fix);
  } else if (onlyName !== undefined && name !== onlyName) {
    refuse(path, `there is one ${kind} only`, `name it ${onlyName}`);
  }
}

function refuseLabels(value: Readonly<Record<string, unknown>>, refuse: Refuse): void {
  const metadata = value['metadata'] as { readonly labels?: unknown } | null | undefined;
  if (typeof metadata?.labels !== 'object' || metadata.labels === null) return;
  for (const [key, label] of Object.entries(metadata.labels)) {
    const path = ['metadata', 'labels', key];
    const fix = 'use letters, digits, dashes, dots and underscores; at most 63 of them';
    if (!LABEL_KEY.test(key)) refuse(path, 'not a name of a label', fix);
    if (typeof label === 'string' && !LABEL_VALUE.test(label)) {
      refuse(path, 'not a value of a label', fix);
    }
  }
}

/** By the type that the schema expects. */
const EXPECTED: Readonly<Record<string, string>> = {
  string: 'write a text; put it into quotes when it looks like a number or a boolean',
  boolean: 'write true or false without quotes',
  number: 'write a number without quotes',
  int: 'write a whole number without quotes',
  array: 'write one entry per line, each after a dash',
  object: 'write its fields below it, indented',
  record: 'write its fields below it, indented',
};

function refuseShape(error: z.ZodError, value: unknown, refuse: Refuse): void {
  for (const issue of error.issues) {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
    const expected = 'expected' in issue ? String(issue.expected) : '';
    if (path.join('.') === 'metadata.name') continue;
    if (isMissing(value, path)) {
      refuse(path, 'the field is missing', 'add it');
      continue;
    }
    const size = sizeProblem(issue);
    if (size !== undefined) {
      refuse(path, size.problem, size.fix);
      continue;
    }
    const text = issue.message.replace(/^Invalid input: /, '');
    const problem = text === 'Invalid input' ? 'a value of the wrong type' : lowerFirst(text);
    refuse(path, problem, EXPECTED[expected] ?? 'correct the value');
  }
}

/** Of a text or a list. */
function sizeProblem(
  issue: z.core.$ZodIssue,
): { readonly problem: string; readonly fix: string } | undefined {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return undefined;
  const { origin } = issue;
  if (origin !== 'string' && origin !== 'array') return undefined;
  if (issue.code === 'too_small') {
    const fix = origin === 'string' ? 'write a text, or remove the field' : 'add an entry';
    return issue.minimum === 1 ? { problem: 'is empty', fix } : undefined;
  }
  const unit = origin === 'string' ? 'characters' : 'entries';
  return { problem: `has more than ${issue.maximum} ${unit}`, fix: `leave ${unit} out` };
}

function isMissing(value: unknown, path: readonly Step[]): boolean {
  const found = path.reduce<unknown>(
    (at, step) => (typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined),
    value,
  );
  return found === undefined;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
