/**
 * Files for the shell script that rolls a machine back when the host worker cannot start in the
 * deployment of an update: the time limit, and the deployment to return to. The script is
 * `deploy/host/slipway-host-fallback`.
 */

import { diskFailure } from '../disk-failure';
import type { Files } from '../ports';
import { writePrivate } from '../records/configs';

/** Two lines: seconds from the boot of the update, and the deployment that ran before. */
const UNCONFIRMED_FILE = '/var/lib/slipway/unconfirmed';
/** The same file, after the script has rolled back. */
const UNSTARTED_FILE = '/var/lib/slipway/unstarted';

interface Fallback {
  /** The worker must reach Temporal within this time. */
  readonly seconds: number;
  /** As drivers name it: `CHECKSUM.SERIAL`. */
  readonly deployment: string;
}

interface NextBoot {
  /** The running deployment, and the one that will boot. */
  readonly booted: string;
  readonly expected: string;
  /** The worker must reach Temporal within this time; absent: no limit, as at a first boot. */
  readonly seconds: number | undefined;
}

/**
 * For the next boot, in case the worker cannot start in it. Not for a boot of the same deployment,
 * where the script could do nothing.
 *
 * @throws `ApplyFailed` naming the path
 */
export async function leaveWayBack(
  files: Files,
  { booted, expected, seconds }: NextBoot,
): Promise<void> {
  if (seconds === undefined || expected === booted) return dropFallback(files);
  await leaveFallback(files, { seconds, deployment: booted });
}

/** Written before the reboot is ordered. @throws `ApplyFailed` naming the path */
async function leaveFallback(files: Files, { seconds, deployment }: Fallback): Promise<void> {
  await files.remove(UNSTARTED_FILE);
  await writePrivate(files, UNCONFIRMED_FILE, `${Math.ceil(seconds)}\n${deployment}\n`);
}

/**
 * The worker itself is in charge, or the update is rolled back. Also removes the temporary file of
 * a crash.
 *
 * @throws `ApplyFailed` naming the path
 */
export async function dropFallback(files: Files): Promise<void> {
  try {
    await files.sweep(UNCONFIRMED_FILE);
    await files.remove(UNCONFIRMED_FILE);
  } catch (error) {
    throw diskFailure(error);
  }
}

/** Why the script rolled the machine back, if it did: a sentence, until `forgetUnstarted`. */
export async function whyUnstarted(files: Pick<Files, 'look'>): Promise<string | undefined> {
  const found = await files.look(UNSTARTED_FILE);
  if (found.kind !== 'file') return undefined;
  const [seconds = ''] = found.content.toString('utf8').split('\n');
  return (
    `no host worker had reached Temporal ${seconds} s after the reboot, and none was left that could ` +
    'take the machine back, so slipway-host-fallback.service did: see whether slipway-host.service ' +
    'starts on the new image'
  );
}

export async function forgetUnstarted(files: Files): Promise<void> {
  await files.remove(UNSTARTED_FILE);
}
