/** One configuration over another. */

import { isRecord } from '../is-record';
import { zero } from './decode-json';
import { KUBELET_CONFIGURATION } from './schema';
import type { GoField, GoFields, GoStructType, GoType, GoValue } from './schema-types';

/**
 * The base with every value of the other that is not zero. Maps are merged key by key, and there zero
 * values count; lists replace lists. A pointer to zero counts only where the base has none.
 *
 * @see mergo v0.3.16 Merge, WithOverride, as MCO calls it
 */
export function mergeConfigurations(base: GoFields, over: GoFields): GoFields {
  return mergeStructs(KUBELET_CONFIGURATION, base, over);
}

function mergeStructs(type: GoStructType, base: GoFields, over: GoFields): GoFields {
  const merged = type.fields.flatMap((field) => {
    const value = mergeField(field, base[field.name], over[field.name]);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return Object.fromEntries(merged);
}

/** A zero behind a pointer is one where the base has no pointer. */
function mergeField(
  { type }: GoField,
  base: GoValue | undefined,
  over: GoValue | undefined,
): GoValue | undefined {
  if (over === undefined) return base;
  return mergeValues(type, base ?? zero(type), over);
}

function mergeValues(type: GoType, base: GoValue, over: GoValue): GoValue {
  switch (type.kind) {
    case 'struct':
      return mergeStructs(type, fieldsOf(base), fieldsOf(over));
    case 'map':
      return over === null ? base : { ...fieldsOf(base), ...fieldsOf(over) };
    case 'list':
      return Array.isArray(over) && over.length > 0 ? over : base;
    case 'time-or-duration':
      return mergeTimeOrDuration(base, over);
    // Its fields are private, so that a merge leaves them alone.
    case 'quantity':
      return base;
    default:
      return over === zero(type) ? base : over;
  }
}

/** A struct of two fields in Go: each counts for itself. */
function mergeTimeOrDuration(base: GoValue, over: GoValue): GoValue {
  const [{ nanoseconds, asText }, other] = [fieldsOf(base), fieldsOf(over)];
  return {
    nanoseconds: other['nanoseconds'] === 0n ? nanoseconds : other['nanoseconds'],
    asText: other['asText'] === true ? true : asText,
  };
}

function fieldsOf(value: GoValue): GoFields {
  return isRecord(value) ? value : {};
}
