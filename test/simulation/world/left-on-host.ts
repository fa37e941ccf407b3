/** What an update leaves on a simulated machine, and how that ends. */

import { fail } from '../../../core/errors';
import type { Host } from './host';
import type { Journal, SimulatedConfig } from './journal';

/** Out of the update's operating system, or of a boot that began on its files. */
export function backTakesBoot(
  { boot, os }: Host,
  { armed, goingBack, previousOs }: Journal,
): boolean {
  if (os !== previousOs) return true;
  return goingBack === undefined
    ? armed !== undefined && armed !== boot
    : goingBack.bootId === boot;
}

export function commit(host: Host, config: SimulatedConfig): void {
  host.current = config.name;
  host.journal = undefined;
  host.staged = undefined;
}

export function undo(host: Host, journal: Journal): void {
  host.files = journal.previousFiles;
  host.staged = undefined;
  host.journal = undefined;
}

export function failedEarlier(failed: string): Error {
  return fail('EarlierUpdateFailed', `it has failed in an update that was lost: ${failed}`);
}
