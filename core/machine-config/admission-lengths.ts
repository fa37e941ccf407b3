/** Names that are too long for a file system, or for the suffixes that hosts add. */

import type { Report } from './admission-problem';
import { NO_ORIGINAL_SUFFIX, noOriginalPath } from './original-paths';

const NAME_BYTES = 255;
const PATH_BYTES = 4095;

const ADDED = {
  nothing: { text: '', why: '' },
  /** At its first update a host records that no such file existed. */
  stamp: {
    text: NO_ORIGINAL_SUFFIX,
    why: `, because they add ${NO_ORIGINAL_SUFFIX} to note what was there before`,
  },
  dropins: { text: '.d', why: ', because they add .d for the directory of its drop-ins' },
} as const;

/** Reports a name of a file or unit that is too long with its suffix; true = it is. */
export function reportNameLength(
  name: string,
  added: keyof typeof ADDED,
  field: string,
  report: Report,
): boolean {
  const { text, why } = ADDED[added];
  const bytes = Buffer.byteLength(name);
  const most = NAME_BYTES - text.length;
  if (bytes <= most) return false;
  const problem = `a name of ${bytes} bytes is too long: hosts take at most ${most}${why}`;
  report(field, problem, `shorten it to ${most} bytes`);
  return true;
}

/** The same for every name in a path, and for the whole path. */
export function reportPathLength(
  path: string,
  isStamped: boolean,
  field: string,
  report: Report,
): void {
  const [name = '', ...parents] = path.split('/').reverse();
  const isTooLong =
    reportNameLength(name, isStamped ? 'stamp' : 'nothing', field, report) ||
    parents.some((parent) => reportNameLength(parent, 'nothing', field, report));
  if (isTooLong) return;
  const bytes = Buffer.byteLength(path);
  const most = PATH_BYTES - (isStamped ? noOriginalPath('').length : 0);
  if (bytes <= most) return;
  const problem = `a path of ${bytes} bytes is too long: hosts take at most ${most}`;
  report(field, problem, `shorten it to ${most} bytes`);
}
