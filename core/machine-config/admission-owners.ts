/** Owners that no host could give a file. */

import { structOf, type IgnitionObject } from '../ignition';
import type { Report } from './admission-problem';

/** The next ID equals -1, with which the kernel keeps the owner. */
export const HIGHEST_ID = 4_294_967_294;

/** Characters that no account name can have: they would break `/etc/passwd`, or name a path. */
export const NO_NAME = /[:/\s\p{Cc}]/u;

export function reportOwner(node: IgnitionObject, field: string, report: Report): void {
  for (const what of ['user', 'group'] as const) {
    const { id, name } = structOf(node[what]);
    if (typeof id === 'number' && (id < 0 || id > HIGHEST_ID)) {
      const fix = `use a number from 0 to ${HIGHEST_ID}, or leave it out for root`;
      report(`${field}.${what}.id`, `no host can have a ${what} with the ID ${id}`, fix);
    }
    if (typeof name === 'string' && NO_NAME.test(name)) {
      const problem = `no ${what} has a colon, slash, blank or control character in its name`;
      report(`${field}.${what}.name`, problem, `write the name of a ${what} that the hosts have`);
    }
  }
}
