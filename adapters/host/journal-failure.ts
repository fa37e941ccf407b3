/** What the disk refuses to the journal itself: the file, what was done to it, and what mends it. */

import { fail, failureName, messageOf } from '../../core/errors';

/**
 * A failure of the disk under the journal as `JournalFailed`; everything else stays what it is.
 *
 * @param directory - of the journal, for errors that name no file
 */
export function journalFailure(directory: string, error: unknown): unknown {
  if (failureName(error) !== undefined) return error;
  const code = systemCode(error);
  if (code === undefined) return error;
  const path = hostPathOf(error) ?? directory;
  const operation = systemCallOf(error) ?? 'use';
  const why = messageOf(error).replace(`${path}: `, '');
  const text = `${operation} the undo journal, ${path}: ${why}; ${remedyOf(code, directory)}`;
  return Object.assign(fail('JournalFailed', text, { path, operation, code }), { cause: error });
}

/** Does something to the journal. @throws `JournalFailed` when the disk refuses it */
export async function onJournal<Result>(
  directory: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw journalFailure(directory, error);
  }
}

/** A process that dies, in a test, is nobody's failure to name. */
export function systemCode(error: unknown): string | undefined {
  return textIn(error, 'code');
}

/** As the host sees it: not through a descriptor of this process. */
export function hostPathOf(error: unknown): string | undefined {
  const path = textIn(error, 'path');
  return path?.startsWith('/proc/self/fd/') === true ? undefined : path;
}

/** An error that was told with the host's path has the call in its cause. */
function systemCallOf(error: unknown): string | undefined {
  const inner = typeof error === 'object' && error !== null && 'cause' in error ? error.cause : {};
  return textIn(error, 'syscall') ?? textIn(inner, 'syscall');
}

function textIn(value: unknown, key: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const found = (value as Readonly<Record<string, unknown>>)[key];
  return typeof found === 'string' ? found : undefined;
}

function remedyOf(code: string, directory: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `free space on the file system of ${directory}`;
    case 'EROFS':
      return `mount the file system of ${directory} for writing again; the log of the kernel says why it is not`;
    case 'EACCES':
    case 'EPERM':
      return `let root read and write everything in ${directory}: look at its labels and at lsattr`;
    case 'EIO':
      return `the disk below ${directory} is failing: look at the log of the kernel, and replace it`;
    default:
      return `look at ${directory} and at the log of the kernel`;
  }
}
