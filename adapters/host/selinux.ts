import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fail } from '../../core/errors';
import { hasCode } from './root-paths';

/** Exists only while SELinux is enabled. */
const ENFORCE_FILE = '/sys/fs/selinux/enforce';

/**
 * After a rename new paths would have the label of the directory. Does nothing without SELinux or
 * the program, or for another machine's root, which has another policy.
 */
export function createRelabel(
  root: string,
  machine: { readonly program: string; readonly enforceFile: string } = {
    program: 'restorecon',
    enforceFile: ENFORCE_FILE,
  },
): (paths: readonly string[]) => Promise<void> {
  return async (paths) => {
    if (root !== '/' || paths.length === 0 || !existsSync(machine.enforceFile)) return;
    // Separated by zeros on standard input, because there may be many.
    await restorecon(machine.program, paths);
  };
}

function restorecon(program: string, paths: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['-0', '-f', '-'], { stdio: ['pipe', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (piece: Buffer) => (errors += piece.toString('utf8')));
    // The exit code of a program that ends early is enough.
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => (hasCode(error, 'ENOENT') ? resolve() : reject(error)));
    child.on('close', (code) => {
      if (code === 0) resolve();
      else
        reject(fail('ApplyFailed', `label new files: ${errors.trim() || `${program}: ${code}`}`));
    });
    child.stdin.end(paths.map((path) => `${path}\0`).join(''));
  });
}
