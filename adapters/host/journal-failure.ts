import { fail, failureName, messageOf } from '../../core/errors';

/**
 * Other errors are unchanged.
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

/** @throws `JournalFailed` when the disk refuses the journal */
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

export function systemCode(error: unknown): string | undefined {
  return textIn(error, 'code');
}

/** The host path, not a descriptor of this process. */
export function hostPathOf(error: unknown): string | undefined {
  const path = textIn(error, 'path');
  return path?.startsWith('/proc/self/fd/') === true ? undefined : path;
}

/** An error with a rewritten path has the call in its cause. */
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
