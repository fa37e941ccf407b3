/** What a disk refuses, in the words of the catalogue. */

import { fail, failureName, messageOf } from '../core/errors';

/** A failure of the disk as `ApplyFailed` with the path; everything else stays what it is. */
export function diskFailure(error: unknown): unknown {
  if (failureName(error) !== undefined || typeof error !== 'object' || error === null) return error;
  if (!('path' in error) || typeof error.path !== 'string') return error;
  const { path } = error;
  return Object.assign(fail('ApplyFailed', `write ${messageOf(error)}`, { path }), {
    cause: error,
  });
}
