/** What was struck and survived, counted into a file that docs/reliability.md is checked against. */

import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';

/** Lines of JSON, one for each fault after which every promise held. */
export const RESULTS_FILE = join(repositoryRoot(), '.slipway', 'faults.jsonl');

/** Counts one fault; called only after every promise was looked at. */
export function tally(suite: string, fault: object): void {
  mkdirSync(dirname(RESULTS_FILE), { recursive: true });
  appendFileSync(RESULTS_FILE, `${JSON.stringify({ suite, ...fault })}\n`);
}
