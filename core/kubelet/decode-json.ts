/** A JSON value as a value of a Go type, with the rules and the errors of Go's decoder. */

import type { GoJson, GoJsonMember } from '../encoding/go-json-text';
import { isRecord } from '../is-record';
import { decodeOwnText } from './decode-text';
import { fieldNamed } from './field-names';
import {
  goName,
  type GoField,
  type GoFields,
  type GoStructType,
  type GoType,
  type GoValue,
} from './schema-types';

type Decoded = { readonly value: GoFields } | { readonly error: string };

/**
 * Reads a struct. Unknown fields are dropped; the error is the first.
 *
 * @see Go encoding/json Decoder.Decode (go 1.26)
 */
export function decodeStruct(type: GoStructType, json: GoJson): Decoded {
  const decoder = new Decoder();
  const value = decoder.value(type, json, { path: [] }, undefined);
  const error = decoder.error();
  if (error !== undefined) return { error };
  return { value: isRecord(value) ? value : {} };
}

/** Where the decoder is. */
interface Place {
  /** The innermost struct, without its package. */
  readonly struct?: string;
  /** Fields, also of embedded structs; elements of lists and maps have no step. */
  readonly path: readonly string[];
}

class Decoder {
  /** A wrong type does not end the decoding; what a type reads by itself does, and outranks it. */
  #wrongType: string | undefined;
  #refused: string | undefined;

  error(): string | undefined {
    return this.#refused ?? this.#wrongType;
  }

  /** @param before - what an earlier member of the same name has set */
  value(
    type: GoType,
    json: GoJson,
    place: Place,
    before: GoValue | undefined,
  ): GoValue | undefined {
    const own = decodeOwnText(type, json);
    if (own !== undefined) return this.#own(own, place);
    if (json.kind === 'null') return type.kind === 'map' || type.kind === 'list' ? null : before;
    if (type.kind === 'struct' && json.kind === 'object') {
      return this.#struct(type, json.members, place, before);
    }
    if (type.kind === 'map' && json.kind === 'object') {
      return this.#map(type.of, json.members, place, before);
    }
    if (type.kind === 'list' && json.kind === 'array') {
      return json.items.map((item) => this.value(type.of, item, place, undefined) ?? zero(type.of));
    }
    return this.#scalar(type, json, place) ?? before;
  }

  #own(own: NonNullable<ReturnType<typeof decodeOwnText>>, place: Place): GoValue | undefined {
    if ('value' in own) return own.value;
    this.#refused ??= 'error' in own ? own.error : wrongType(own.wrong, own.type, place);
    return undefined;
  }

  #struct(
    type: GoStructType,
    members: readonly GoJsonMember[],
    place: Place,
    before: GoValue | undefined,
  ): GoFields {
    const fields = new Map(isRecord(before) ? Object.entries(before) : []);
    for (const [name, json] of members) {
      const field = fieldNamed(type, name);
      if (field === undefined) continue;
      const value = this.#field(
        field,
        json,
        fieldPlace(type, field, place),
        fields.get(field.name),
      );
      fields.set(field.name, value);
    }
    return Object.fromEntries(fields);
  }

  #field(
    field: GoField,
    json: GoJson,
    place: Place,
    before: GoValue | undefined,
  ): GoValue | undefined {
    if (field.pointer && json.kind === 'null') return undefined;
    const value = this.value(field.type, json, place, before);
    return field.pointer ? (value ?? zero(field.type)) : value;
  }

  #map(
    of: GoType,
    members: readonly GoJsonMember[],
    place: Place,
    before: GoValue | undefined,
  ): GoFields {
    const entries = new Map(isRecord(before) ? Object.entries(before) : []);
    for (const [key, json] of members) {
      entries.set(key, this.value(of, json, place, undefined) ?? zero(of));
    }
    return Object.fromEntries(entries);
  }

  #scalar(type: GoType, json: GoJson, place: Place): GoValue | undefined {
    if (type.kind === 'string' && json.kind === 'string') return json.value;
    if (type.kind === 'bool' && json.kind === 'bool') return json.value;
    if (json.kind === 'number' && (type.kind === 'int' || type.kind === 'float64')) {
      const number = numberOf(type, json.raw);
      if (number !== undefined) return number;
      this.#wrongType ??= wrongType(`number ${json.raw}`, goName(type), place);
      return undefined;
    }
    this.#wrongType ??= wrongType(json.kind, goName(type), place);
    return undefined;
  }
}

function fieldPlace(type: GoStructType, field: GoField, place: Place): Place {
  const steps = field.embedded === undefined ? [field.name] : [field.embedded, field.name];
  return { struct: type.go.replace(/^.*\./, ''), path: [...place.path, ...steps] };
}

export function numberOf(type: GoType, literal: string): bigint | number | undefined {
  if (type.kind === 'float64') {
    return Number.isFinite(Number(literal)) ? Number(literal) : undefined;
  }
  if (type.kind !== 'int' || !/^-?\d+$/.test(literal)) return undefined;
  if (!type.signed && literal.startsWith('-')) return undefined;
  const value = BigInt(literal);
  const bits = BigInt(type.signed ? type.bits - 1 : type.bits);
  return value < 2n ** bits && value >= (type.signed ? -(2n ** bits) : 0n) ? value : undefined;
}

/** What Go has for a value that was never set. */
export function zero(type: GoType): GoValue {
  switch (type.kind) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'float64':
      return 0;
    case 'int':
    case 'duration':
      return 0n;
    case 'time-or-duration':
      return { nanoseconds: 0n, asText: false };
    case 'quantity':
      return '0';
    case 'struct':
      return {};
    case 'time':
    case 'list':
    case 'map':
      return null;
  }
}

function wrongType(found: string, type: string, { struct, path }: Place): string {
  const where =
    struct === undefined ? 'Go value' : `Go struct field ${[struct, ...path].join('.')}`;
  return `json: cannot unmarshal ${found} into ${where} of type ${type}`;
}
