import { run } from '../../tools/binaries/run-program';

export interface ExecuteOptions {
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Returns standard output; ends the program when this process dies.
 *
 * @throws Error with the command, how it ended and the end of its output
 */
export function execute(
  command: string,
  args: readonly string[],
  { cwd, environment = {} }: ExecuteOptions = {},
): Promise<string> {
  return run(command, args, { ...process.env, LC_ALL: 'C', ...environment }, cwd);
}
