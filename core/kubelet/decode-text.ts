/** Types that read their JSON text by themselves: durations, quantities and times. */

import { parseGoDuration } from '../encoding/go-duration';
import type { GoJson } from '../encoding/go-json-text';
import { parseGoInteger } from '../encoding/go-numbers';
import { goQuote } from '../encoding/go-quote';
import { parseGoTime } from '../encoding/go-time';
import { parseQuantity } from '../encoding/quantity';
import type { GoType, GoValue } from './schema-types';

type Own =
  | { readonly value: GoValue }
  | { readonly error: string }
  /** Another kind of JSON than the type reads: `number`, `string`. */
  | { readonly wrong: string; readonly type: string };

/** Undefined for all other types. */
export function decodeOwnText(type: GoType, json: GoJson): Own | undefined {
  switch (type.kind) {
    case 'duration':
      return ofText(json, duration);
    case 'time-or-duration':
      return timeOrDuration(json);
    case 'quantity':
      return quantity(json);
    case 'time':
      return json.kind === 'null' ? { value: null } : ofText(json, time);
    default:
      return undefined;
  }
}

/** A null is an empty text here. */
function ofText(json: GoJson, read: (text: string) => Own): Own {
  if (json.kind === 'null') return read('');
  return json.kind === 'string' ? read(json.value) : { wrong: json.kind, type: 'string' };
}

function duration(text: string): Own {
  const parsed = parseGoDuration(text);
  return 'error' in parsed ? parsed : { value: parsed.nanoseconds };
}

function time(text: string): Own {
  const parsed = parseGoTime(text);
  if ('error' in parsed) return parsed;
  // Go's zero time is written as null.
  return { value: parsed.utc === '0001-01-01T00:00:00Z' ? null : parsed.utc };
}

function timeOrDuration(json: GoJson): Own {
  if (json.kind === 'string') {
    const parsed = parseGoDuration(json.value);
    if ('error' in parsed) return parsed;
    return { value: { nanoseconds: parsed.nanoseconds, asText: true } };
  }
  if (json.kind === 'null') return { value: { nanoseconds: 0n, asText: false } };
  const nanoseconds = json.kind === 'number' ? parseGoInteger(json.raw) : undefined;
  if (nanoseconds !== undefined) return { value: { nanoseconds, asText: false } };
  const found = json.kind === 'number' ? `number ${json.raw}` : json.kind;
  const reason = `json: cannot unmarshal ${found} into Go value of type time.Duration`;
  return { error: `invalid duration ${goQuote(rawOf(json))}: ${reason}` };
}

function quantity(json: GoJson): Own {
  if (json.kind === 'null') return { value: '0' };
  const parsed = parseQuantity(json.kind === 'string' ? json.value.trim() : rawOf(json));
  return 'error' in parsed ? parsed : { value: parsed.text };
}

function rawOf(json: GoJson): string {
  if ('raw' in json) return json.raw;
  return json.kind === 'null' ? 'null' : JSON.stringify(json.value);
}
