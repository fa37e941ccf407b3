/**
 * The time limit, and the deployment to return to, for `deploy/host/slipway-host-fallback`, which
 * rolls a machine back when the host worker cannot start.
 */

import { diskFailure } from '../disk-failure';
import type { Files } from '../ports';
import { writePrivate } from '../records/configs';

/** Seconds from the boot of the update, and the deployment that ran before. */
const UNCONFIRMED_FILE = '/var/lib/slipway/unconfirmed';
/** After the script has rolled back. */
const UNSTARTED_FILE = '/var/lib/slipway/unstarted';

interface Fallback {
  /** The limit for reaching Temporal. */
  readonly seconds: number;
  /** As drivers name it: `CHECKSUM.SERIAL`. */
  readonly deployment: string;
}

interface NextBoot {
  readonly booted: string;
  readonly expected: string;
  /** The limit for reaching Temporal; absent: none, as at a first boot. */
  readonly seconds: number | undefined;
}

/**
 * Not for a boot of the same deployment, where the script could do nothing.
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

/** @throws `ApplyFailed` naming the path */
async function leaveFallback(files: Files, { seconds, deployment }: Fallback): Promise<void> {
  await files.remove(UNSTARTED_FILE);
  await writePrivate(files, UNCONFIRMED_FILE, `${Math.ceil(seconds)}\n${deployment}\n`);
}

/**
 * The worker is in charge, or the update is rolled back. Also removes the temporary file of a
 * crash.
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

/** Why the script rolled back: a sentence, until `forgetUnstarted`. */
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
