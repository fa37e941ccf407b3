/** How Go's decoder finds the field of a name. */

import type { GoField, GoStructType } from './schema-types';

/** The exact name first, then the first field that differs in case only. */
export function fieldNamed(struct: GoStructType, name: string): GoField | undefined {
  const exact = struct.fields.find((field) => field.name === name);
  if (exact !== undefined) return exact;
  const folded = foldName(name);
  return struct.fields.find((field) => foldName(field.name) === folded);
}

/** Unicode has two more letters that are a K and an S without regard to case. */
function foldName(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
}
