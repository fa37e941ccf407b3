import { spawn } from 'node:child_process';
import { adoptChild } from '../processes/watchdog';

const KEPT_OUTPUT = 4_000;

/**
 * Returns stdout; ends the program when this process dies.
 *
 * @throws Error with the command, its exit status and the end of its output
 */
export function run(
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  cwd?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    const disown = child.pid === undefined ? () => undefined : adoptChild(child.pid);
    let stdout = '';
    let tail = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      tail = (tail + text).slice(-KEPT_OUTPUT);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-KEPT_OUTPUT);
    });
    child.once('error', reject);
    child.once('close', (status, signal) => {
      disown();
      if (status === 0) return resolve(stdout);
      const ending = signal === null ? `exit status ${status}` : `signal ${signal}`;
      reject(new Error(`${command} ${args.join(' ')} ended with ${ending}\n${tail.trim()}`));
    });
  });
}
