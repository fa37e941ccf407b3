import type { z } from 'zod';
import { fail, type FailureName } from '../../core/errors';

/**
 * Unknown fields stay. A refusal means an object that was stored under an older CRD, because the
 * API server checks the current one.
 *
 * @param what - kind and name, for the message: `machineconfig 99-ssh`
 * @throws `failure`, naming the object, every wrong field and the expected value
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
