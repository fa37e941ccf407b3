/** Manifests of files, as objects that are what they should be. Their text may hold secrets. */

import { parse } from 'yaml';
import type { z } from 'zod';
import { parseObject } from '../../adapters/api-schemas';
import { fail } from '../../core/errors';

/**
 * Reads one object of a YAML or JSON text.
 *
 * @param what - how messages name it, such as its file
 * @throws `InvalidMachineConfig` that names the field and quotes nothing
 */
export function readObject<S extends z.ZodType>(
  schema: S,
  text: string,
  what: string,
): z.output<S> {
  let value: unknown;
  try {
    value = parse(text, { prettyErrors: false });
  } catch {
    throw fail('InvalidMachineConfig', `${what} is not YAML`);
  }
  return parseObject(schema, value, what, 'InvalidMachineConfig');
}
