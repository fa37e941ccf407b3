/** What a KubeletConfig says that a kubelet never hears: unknown fields and values of a wrong type. */

import type { GoJson, GoJsonMember } from '../encoding/go-json-text';
import type { FieldProblem } from '../field-problem';
import { readKubeletConfigurationText, type ReadYaml } from './decode';
import { decodeOwnText } from './decode-text';
import { numberOf } from './decode-json';
import { fieldNamed } from './field-names';
import { nearestName } from './nearest-name';
import { KUBELET_CONFIGURATION } from './schema';
import type { GoStructType, GoType } from './schema-types';

export interface KubeletConfigProblem extends FieldProblem {
  /** The kubelet gets everything else; otherwise the object is refused, as MCO does. */
  readonly isIgnored: boolean;
}

type Path = FieldProblem['path'];

const ROOT: Path = ['spec', 'kubeletConfig'];

/**
 * Every unknown field, every field whose name has another case, and every value that its field cannot
 * hold, in order. MCO drops the first, accepts the second and reports only the first of the last.
 *
 * @param text - JSON or YAML
 */
export function strictKubeletConfigProblems(
  text: string,
  readYaml: ReadYaml,
): readonly KubeletConfigProblem[] {
  const json = readKubeletConfigurationText(text, readYaml);
  if (json !== undefined) return problemsOf(KUBELET_CONFIGURATION, json, ROOT);
  const fix = 'write the fields of a KubeletConfiguration as an object';
  return [{ path: ROOT, problem: 'is neither JSON nor YAML', fix, isIgnored: false }];
}

function problemsOf(type: GoType, json: GoJson, path: Path): readonly KubeletConfigProblem[] {
  if (json.kind === 'null' && type.kind !== 'duration') return [];
  if (type.kind === 'struct' && json.kind === 'object') {
    return json.members.flatMap((member) => memberProblems(type, member, path));
  }
  if (type.kind === 'map' && json.kind === 'object') {
    return json.members.flatMap(([key, value]) => problemsOf(type.of, value, [...path, key]));
  }
  if (type.kind === 'list' && json.kind === 'array') {
    return json.items.flatMap((item, i) => problemsOf(type.of, item, [...path, i]));
  }
  return scalarProblems(type, json, path);
}

function memberProblems(
  type: GoStructType,
  [name, value]: GoJsonMember,
  parent: Path,
): readonly KubeletConfigProblem[] {
  const path = [...parent, name];
  const field = fieldNamed(type, name);
  if (field === undefined) {
    const names = type.fields.map((each) => each.name);
    const nearest = nearestName(name, names);
    const fix = nearest === undefined ? 'remove it' : `write ${nearest}, or remove it`;
    const problem = 'no kubelet knows this field; it has no effect';
    return [{ path, problem, fix, isIgnored: true }];
  }
  const inside = problemsOf(field.type, value, path);
  if (field.name === name) return inside;
  const problem = `the field is called ${field.name}`;
  return [{ path, problem, fix: `write ${field.name}`, isIgnored: true }, ...inside];
}

function scalarProblems(type: GoType, json: GoJson, path: Path): readonly KubeletConfigProblem[] {
  const expected = EXPECTED[type.kind];
  const own = decodeOwnText(type, json);
  if (own !== undefined) {
    if ('value' in own) return [];
    const problem = 'error' in own ? `cannot be read: ${own.error}` : `is ${WORDS[json.kind]}`;
    return [{ path, problem, fix: `write ${expected}`, isIgnored: false }];
  }
  if (type.kind === 'string' && json.kind === 'string') return [];
  if (type.kind === 'bool' && json.kind === 'bool') return [];
  const isNumber = type.kind === 'int' || type.kind === 'float64';
  if (isNumber && json.kind === 'number') {
    if (numberOf(type, json.raw) !== undefined) return [];
    const fix = `write ${rangeOf(type)}`;
    return [{ path, problem: `cannot hold ${json.raw}`, fix, isIgnored: false }];
  }
  const fix = `write ${expected}`;
  return [{ path, problem: `is ${WORDS[json.kind]}`, fix, isIgnored: false }];
}

function rangeOf(type: GoType): string {
  if (type.kind !== 'int') return EXPECTED[type.kind];
  const bits = BigInt(type.signed ? type.bits - 1 : type.bits);
  const lowest = type.signed ? -(2n ** bits) : 0n;
  return `an integer from ${lowest} to ${2n ** bits - 1n}`;
}

const EXPECTED: Readonly<Record<GoType['kind'], string>> = {
  string: 'a text; put numbers and true or false into quotes',
  bool: 'true or false, without quotes',
  int: 'an integer, without quotes',
  float64: 'a number, without quotes',
  duration: 'a duration in quotes, such as "1m30s"',
  'time-or-duration': 'a duration in quotes, such as "5s"',
  quantity: 'a quantity, such as "500Mi"',
  time: 'a time such as "2006-01-02T15:04:05Z"',
  list: 'a list',
  map: 'an object of names and values',
  struct: 'an object with fields',
};

const WORDS: Readonly<Record<GoJson['kind'], string>> = {
  null: 'null',
  bool: 'true or false',
  number: 'a number',
  string: 'a text',
  array: 'a list',
  object: 'an object',
};
