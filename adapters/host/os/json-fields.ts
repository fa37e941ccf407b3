/**
 * Reads the JSON of other programs. Refuses missing fields and other types by name, so that an
 * unknown format is never misread.
 */

import { fail } from '../../../core/errors';
import { withoutCredentials } from './command';

/** `null` counts as absent, because programs differ in that. */
export interface JsonFields {
  /** `status.booted` or `deployments[1]`; empty for the outermost object. */
  readonly path: string;
  text(key: string): string;
  optionalText(key: string): string | undefined;
  flag(key: string): boolean;
  /** From 0. */
  count(key: string): number;
  texts(key: string): readonly string[];
  object(key: string): JsonFields;
  optionalObject(key: string): JsonFields | undefined;
  objects(key: string): readonly JsonFields[];
  optionalObjects(key: string): readonly JsonFields[] | undefined;
  /** For a field with the right type. */
  refuse(key: string, expected: string): Error;
}

/**
 * @param program - the command line that printed it
 * @throws `OsCommandFailed` naming the program and the field
 */
export function readJson(program: string, output: string): JsonFields {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    const excerpt = withoutCredentials(output.trim().slice(0, 60));
    throw fail('OsCommandFailed', `${program} did not print JSON but '${excerpt}'`);
  }
  if (!isObject(value)) throw unexpected(program, 'the output', 'an object', value);
  return fieldsOf(program, '', value);
}

/** @throws `OsCommandFailed` as `readJson` */
export function readFields(program: string, value: unknown): JsonFields {
  if (!isObject(value)) throw unexpected(program, 'the answer', 'an object', value);
  return fieldsOf(program, '', value);
}

function fieldsOf(program: string, path: string, object: Record<string, unknown>): JsonFields {
  const at = (key: string): string => (path === '' ? key : `${path}.${key}`);
  const valueOf = (key: string): unknown => object[key] ?? undefined;

  function typed<T>(key: string, expected: string, is: (value: unknown) => value is T): T {
    const value = valueOf(key);
    if (!is(value)) throw unexpected(program, at(key), expected, value);
    return value;
  }
  const list = (key: string, expected: string): readonly unknown[] =>
    valueOf(key) === undefined ? [] : typed(key, expected, isList);

  const objects = (key: string): readonly JsonFields[] =>
    typed(key, 'a list of objects', isList).map((entry, index) => {
      const place = `${at(key)}[${index}]`;
      if (!isObject(entry)) throw unexpected(program, place, 'an object', entry);
      return fieldsOf(program, place, entry);
    });

  return {
    path,
    text: (key) => typed(key, 'a string', isText),
    optionalText: (key) =>
      valueOf(key) === undefined ? undefined : typed(key, 'a string', isText),
    flag: (key) => (valueOf(key) === undefined ? false : typed(key, 'true or false', isFlag)),
    count: (key) => typed(key, 'a whole number', isCount),
    texts: (key) =>
      list(key, 'a list of strings').map((entry, index) => {
        if (isText(entry)) return entry;
        throw unexpected(program, `${at(key)}[${index}]`, 'a string', entry);
      }),
    object: (key) => fieldsOf(program, at(key), typed(key, 'an object', isObject)),
    optionalObject: (key) =>
      valueOf(key) === undefined
        ? undefined
        : fieldsOf(program, at(key), typed(key, 'an object', isObject)),
    objects,
    optionalObjects: (key) => (valueOf(key) === undefined ? undefined : objects(key)),
    refuse: (key, expected) => unexpected(program, at(key), expected, valueOf(key)),
  };
}

function unexpected(program: string, place: string, expected: string, found: unknown): Error {
  const what = found === undefined ? 'nothing' : describe(found);
  return fail(
    'OsCommandFailed',
    `${program}: ${place} should be ${expected} but is ${what}; this version prints a format that is not known`,
    { field: place },
  );
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? `'${value.slice(0, 80)}'` : JSON.stringify(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
