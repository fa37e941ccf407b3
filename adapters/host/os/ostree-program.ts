/** slipway-ostree prints lines of progress, then one JSON object. */

import { fail } from '../../../core/errors';
import type { PullProgress } from './os-status';
import { failed, lastJson, type CommandOptions, type RunCommand } from './command';

interface OstreeCallOptions extends Pick<CommandOptions, 'signal' | 'timeoutMs'> {
  readonly onProgress?: (pull: PullProgress) => void;
}

/** @throws `ImageRefused`, `PullFailed` or `OsCommandFailed`, as the program names it */
export type OstreeProgram = (
  words: readonly string[],
  options?: OstreeCallOptions,
) => Promise<unknown>;

interface OstreeProgramParts {
  readonly run: RunCommand;
  readonly program: string;
  readonly sysroot: string;
}

/** The program waits a minute for a locked sysroot. */
const TIMEOUT_MS = 3 * 60_000;

/** The program may return these. */
const REFUSALS = ['ImageRefused', 'PullFailed', 'OsCommandFailed'] as const;

export function createOstreeProgram({ run, program, sysroot }: OstreeProgramParts): OstreeProgram {
  return async (words, { onProgress, ...options } = {}) => {
    const args = ['--sysroot', sysroot, ...words];
    const end = await run(program, args, {
      timeoutMs: TIMEOUT_MS,
      ...options,
      ...(onProgress === undefined ? {} : { onLine: (line) => report(line, onProgress) }),
    });
    if (end.status === 0) return lastJson(program, words, end);
    const refusal = refusalOf(end.lines.at(-1));
    throw refusal ?? failed(program, words, end);
  };
}

/** Other lines are the answer. */
function report(line: string, onProgress: (pull: PullProgress) => void): void {
  const { progress } = objectOf(parse(line));
  const { bytes, totalBytes, layers, totalLayers } = objectOf(progress);
  if (isNumber(bytes) && isNumber(totalBytes) && isNumber(layers) && isNumber(totalLayers)) {
    onProgress({ bytes, totalBytes, layers, totalLayers });
  }
}

function refusalOf(line: string | undefined): Error | undefined {
  const { name, message } = objectOf(objectOf(parse(line ?? ''))['error']);
  const known = REFUSALS.find((refusal) => refusal === name);
  return known === undefined || typeof message !== 'string' ? undefined : fail(known, message);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
