/** Manifest files, whose text may hold secrets. */

import type { z } from 'zod';
import { parseObject } from '../../adapters/api-schemas';
import { storedForm } from '../../adapters/api-schemas/stored-form';
import { readYaml } from '../../adapters/manifests';
import { fail } from '../../core/errors';

/**
 * Reads one object as kubectl and the API server do: `mode: 0644` is 420, and a null field counts
 * as absent.
 *
 * @param what - its name in messages, such as the file
 * @throws `InvalidMachineConfig` that names the line or the field and quotes nothing
 */
export function readObject<S extends z.ZodType>(
  schema: S,
  text: string,
  what: string,
): z.output<S> {
  const { documents, problems } = readYaml(text);
  const [problem] = problems;
  if (problem !== undefined) {
    const why = `line ${problem.line}: ${problem.problem}`;
    throw fail('InvalidMachineConfig', `${what} is not YAML (${why})`);
  }
  if (documents.length > 1) {
    throw fail('InvalidMachineConfig', `${what} holds more than one object`);
  }
  const { value } = storedForm(schema, documents[0]?.value, () => true);
  return parseObject(schema, value, what, 'InvalidMachineConfig');
}
