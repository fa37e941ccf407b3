/** One document of YAML as a value, where only the value counts. */

import { readPlainExactly } from '../../core/yaml/read-plain';
import { readYaml } from './yaml-documents';

/**
 * An empty document is null; of several documents the first counts. Integers that a `number` cannot
 * hold exactly are `bigint`.
 */
export function readYamlDocument(
  text: string,
): { readonly value: unknown } | { readonly problem: string } {
  const { documents, problems } = readYaml(text, readPlainExactly);
  const [problem] = problems;
  if (problem === undefined) return { value: documents[0]?.value ?? null };
  return { problem: `line ${problem.line}: ${problem.problem}` };
}
