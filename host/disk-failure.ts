import { fail, failureName, messageOf } from '../core/errors';

/** A disk error as `ApplyFailed` with the path; other errors unchanged. */
export function diskFailure(error: unknown): unknown {
  if (failureName(error) !== undefined || typeof error !== 'object' || error === null) return error;
  if (!('path' in error) || typeof error.path !== 'string') return error;
  const { path } = error;
  return Object.assign(fail('ApplyFailed', `write ${messageOf(error)}`, { path }), {
    cause: error,
  });
}
