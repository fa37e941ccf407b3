/** What was struck and survived, told in a file from which `npm run faults -- --write` counts into docs/reliability.md. */

import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { campaign } from './campaign';

/** Lines of JSON, one for each fault after which every promise held. */
export const RESULTS_FILE = join(repositoryRoot(), '.slipway', 'faults.jsonl');

/** What the counts are from: the commit, with a plus sign when files were changed since, and how much was struck. */
const from = { commit: commitOf(repositoryRoot()), ...campaign() };

/** Counts one fault; called only after every promise was looked at. */
export function tally(suite: string, fault: object): void {
  mkdirSync(dirname(RESULTS_FILE), { recursive: true });
  appendFileSync(RESULTS_FILE, `${JSON.stringify({ suite, ...fault, from })}\n`);
}

function commitOf(directory: string): string {
  // `--exclude` leaves tags out: the hash alone.
  const args = ['describe', '--always', '--exclude=*', '--abbrev=7', '--dirty=+'];
  const { status, stdout } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : 'no repository';
}
