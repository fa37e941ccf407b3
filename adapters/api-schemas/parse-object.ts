/** Reads an object of the API as one of the schemas, or says what is wrong with it in one line. */

import type { z } from 'zod';
import { fail, type FailureName } from '../../core/errors';

/**
 * The object as the schema's type; unknown fields stay. The API server has checked it against the
 * CRD already, so a refusal means an object that was stored under an older CRD.
 *
 * @param what - kind and name, for the message: `machineconfig 99-ssh`
 * @throws `failure`, naming the object, every field that is wrong and what was expected
 */
export function parseObject<S extends z.ZodType>(
  schema: S,
  object: unknown,
  what: string,
  failure: FailureName,
): z.output<S> {
  const result = schema.safeParse(object);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    (issue) => `${issue.path.map(String).join('.') || 'the object'}: ${lowerFirst(issue.message)}`,
  );
  throw fail(failure, `${what}: ${problems.join('; ')}`);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
