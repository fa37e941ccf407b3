/** Survived faults in a file, which `npm run faults -- --write` counts for docs/reliability.md. */

import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { campaign } from './campaign';

/** A line of JSON for each fault after which every promise held. */
export const RESULTS_FILE = join(repositoryRoot(), '.slipway', 'faults.jsonl');

/** The commit (with a plus sign when files are changed), and the size of the campaign. */
const from = { commit: commitOf(repositoryRoot()), ...campaign() };

/** Call only after every promise was checked. */
export function tally(suite: string, fault: object): void {
  mkdirSync(dirname(RESULTS_FILE), { recursive: true });
  appendFileSync(RESULTS_FILE, `${JSON.stringify({ suite, ...fault, from })}\n`);
}

function commitOf(directory: string): string {
  // Without tags, only the hash is printed.
  const args = ['describe', '--always', '--exclude=*', '--abbrev=7', '--dirty=+'];
  const { status, stdout } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'no repository';
}
