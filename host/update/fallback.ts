/**
 * For the program of a shell's that takes a machine back when the host worker cannot even start in the
 * deployment of an update: that one has to know for how long to wait, and where to go back to, without
 * anything of this. `deploy/host/slipway-host-fallback` is its other half.
 */

import { diskFailure } from '../disk-failure';
import type { Files } from '../ports';
import { writePrivate } from '../records/configs';

/** Two lines: seconds from the boot of the update, and the deployment that ran before. */
const UNCONFIRMED_FILE = '/var/lib/slipway/unconfirmed';
/** The same file, once the machine was taken back by it. */
const UNSTARTED_FILE = '/var/lib/slipway/unstarted';

export interface Fallback {
  /** Within which the worker must have reached Temporal. */
  readonly seconds: number;
  /** As drivers name it: `CHECKSUM.SERIAL`. */
  readonly deployment: string;
}

interface NextBoot {
  /** The deployment that runs, and the one that comes up. */
  readonly booted: string;
  readonly expected: string;
  /** Within which the worker must reach Temporal there; absent = nobody waits to be reached, as at a first boot. */
  readonly seconds: number | undefined;
}

/**
 * For the next boot, should no program of ours start in it. Where it is of the same deployment there is nothing
 * that a shell could do.
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

/** Written with the order of the reboot, before it. @throws `ApplyFailed` naming the path */
export async function leaveFallback(
  files: Files,
  { seconds, deployment }: Fallback,
): Promise<void> {
  await files.remove(UNSTARTED_FILE);
  await writePrivate(files, UNCONFIRMED_FILE, `${Math.ceil(seconds)}\n${deployment}\n`);
}

/**
 * The worker answers for the machine itself, or the update is taken back; what a crash left of writing it
 * goes, too.
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

/**
 * Why the machine is back on the old deployment, if that shell took it back: a sentence. Asked again, it
 * is the same until `forgetUnstarted`.
 */
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

/** The update knows why by now. */
export async function forgetUnstarted(files: Files): Promise<void> {
  await files.remove(UNSTARTED_FILE);
}
