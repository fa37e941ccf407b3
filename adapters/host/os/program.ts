/** Time limits of OS programs: a hanging daemon must not hold an update for ever. */

import { failed, runCommand, type CommandOptions, type RunCommand } from './command';

/** `timeoutMs` replaces the limit of the command. */
export type ProgramOptions = Pick<CommandOptions, 'signal' | 'onProgressLine' | 'timeoutMs'>;

/** @throws `OsCommandFailed` with the command and the last line of its errors */
export type RunProgram = (
  program: string,
  words: readonly string[],
  options?: ProgramOptions,
) => Promise<string>;

const MINUTE = 60_000;

/** The first match counts. */
const LIMITS: readonly (readonly [start: RegExp, milliseconds: number])[] = [
  // Whole systems on the slowest line; a silent registry is given up earlier.
  [/^(?:rpm-ostree rebase|bootc switch|podman pull)\b/, 120 * MINUTE],
  [/^rpm-ostree kargs --deploy-index/, 3 * MINUTE],
  // Writes a deployment and makes an initramfs.
  [/^rpm-ostree (?:kargs|update|override)\b/, 60 * MINUTE],
  [/^podman cp\b/, 30 * MINUTE],
  // The daemon may have to start and read every deployment.
  [/^(?:\S+ status|\S+ --version|skopeo inspect)\b/, 3 * MINUTE],
];
/** Changes of deployments, locks and containers. */
const OTHERS_MS = 15 * MINUTE;

export function timeLimitOf(program: string, words: readonly string[]): number {
  const line = [program, ...words].join(' ');
  return LIMITS.find(([start]) => start.test(line))?.[1] ?? OTHERS_MS;
}

export function createProgramRunner(run: RunCommand = runCommand): RunProgram {
  return async (program, words, options = {}) => {
    const end = await run(program, words, { timeoutMs: timeLimitOf(program, words), ...options });
    if (end.status !== 0) throw failed(program, words, end);
    return end.lines.join('\n');
  };
}
