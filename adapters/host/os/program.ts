/**
 * How long each program that manages the operating system may take. They are run by `command.ts`; none runs
 * without a limit, because a daemon that hangs must not hold an update for ever.
 */

import { failed, runCommand, type CommandOptions, type RunCommand } from './command';

/** `timeoutMs` = instead of the limit that the command has by its name. */
export type ProgramOptions = Pick<CommandOptions, 'signal' | 'onProgressLine' | 'timeoutMs'>;

/**
 * Answers what the program printed, without empty lines.
 *
 * @throws `OsCommandFailed` with the command and the last line of its errors
 */
export type RunProgram = (
  program: string,
  words: readonly string[],
  options?: ProgramOptions,
) => Promise<string>;

const MINUTE = 60_000;

/** By the start of the command line; the first that fits decides. */
const LIMITS: readonly (readonly [start: RegExp, milliseconds: number])[] = [
  // Pulls of whole systems: what the slowest line takes; a registry that is silent is given up before.
  [/^(?:rpm-ostree rebase|bootc switch|podman pull)\b/, 120 * MINUTE],
  [/^rpm-ostree kargs --deploy-index/, 3 * MINUTE],
  // A deployment is written, packages are installed and an initramfs is made.
  [/^rpm-ostree (?:kargs|update|override)\b/, 60 * MINUTE],
  [/^podman cp\b/, 30 * MINUTE],
  // Its daemon may have to start, and to read every deployment.
  [/^(?:\S+ status|\S+ --version|skopeo inspect)\b/, 3 * MINUTE],
];
/** Everything else changes what is there already: deployments, locks, containers. */
const OTHERS_MS = 15 * MINUTE;

/** How long a command may take, in milliseconds. */
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
