/** Documented in docs/cli.md. */

import { failureName } from '../core/errors';

export const EXIT = {
  OK: 0,
  INTERNAL: 1,
  USAGE: 2,
  NOT_FOUND: 3,
  /** The rollout halted or was cancelled, a node failed, or the pool is degraded. */
  FAILED: 4,
  TIMED_OUT: 5,
  PAUSED: 6,
  /** Temporal, the API server or every cluster worker does not answer. */
  UNREACHABLE: 9,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Printed as one line without a stack. */
interface CliError extends Error {
  readonly name: 'CliError';
  readonly exitCode: ExitCode;
}

/** @param message - what is wrong and what to do, lower case, no full stop */
export function cliError(exitCode: ExitCode, message: string): CliError {
  return Object.assign(new Error(message), { name: 'CliError' as const, exitCode });
}

function isCliError(error: unknown): error is CliError {
  return (
    typeof error === 'object' && error !== null && 'name' in error && error.name === 'CliError'
  );
}

export function exitCodeOfError(error: unknown): ExitCode {
  if (isCliError(error)) return error.exitCode;
  switch (failureName(error)) {
    case undefined:
      return EXIT.INTERNAL;
    case 'ObjectNotFound':
      return EXIT.NOT_FOUND;
    case 'ApiUnavailable':
    case 'TemporalUnavailable':
      return EXIT.UNREACHABLE;
    default:
      return EXIT.FAILED;
  }
}
