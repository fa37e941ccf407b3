/** Fields of a decoded configuration. */

import { isRecord } from '../is-record';
import type { GoFields } from './schema-types';

export function textAt(fields: GoFields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

export function textsAt(fields: GoFields, name: string): readonly string[] {
  const value = fields[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** A struct or a map. */
export function fieldsAt(fields: GoFields, name: string): GoFields {
  const value = fields[name];
  return isRecord(value) ? value : {};
}
